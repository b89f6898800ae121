// A T1 file's kernel, run as it is beside a plain one.

#include "engine/community/t1/t1_space.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/fuzz/mutate.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::gate;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

const char* const kT1 = R"json({"General": {"BenchmarkName": "window sum"},
 "ConfigurationSpace": {
  "TuningParameters": [
   {"Name": "block_size_x", "Type": "int", "Values": "[32 * i for i in range(1, 9)]", "Default": 64},
   {"Name": "tile_size_x", "Type": "int", "Values": "[1, 2, 4]", "Default": 2},
   {"Name": "radius", "Type": "int", "Values": "[3]", "Default": 3}],
  "Conditions": [{"Expression": "32 <= block_size_x * tile_size_x <= limit"}]},
 "BenchmarkConfig": {"limit": 512},
 "KernelSpecification": {
  "Language": "CUDA", "CompilerOptions": ["-std=c++11", "--use_fast_math"],
  "KernelName": "window", "KernelFile": "window.cu",
  "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
  "GridDivX": ["block_size_x", "tile_size_x"],
  "ProblemSize": [1000], "SharedMemory": 0,
  "Arguments": [
   {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
    "FillType": "Constant", "Size": "ProblemSize[0]", "FillValue": 0.0, "Output": 1},
   {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
    "FillType": "Random", "Size": "ProblemSize[0] + 2 * max(radius)", "FillValue": 2.0},
   {"Name": "sum", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadWrite",
    "FillType": "Constant", "Size": 1000, "FillValue": 1.5},
   {"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 1000}]}}
)json";

const char* const kWindow = R"(
extern "C" __global__ void window(float* out, const float* in, float* sum, int n) {
  for (int t = 0; t < tile_size_x; ++t) {
    int i = (blockIdx.x * tile_size_x + t) * block_size_x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= 2 * radius; ++k) s += in[i + k];
    out[i] = s / 7;
    sum[i] += s;
  }
}
)";

const char* const kPlainWindow = R"(
__global__ void plain(float* out, const float* in, float* sum, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int k = 2 * radius; k >= 0; --k) s += in[i + k];
  out[i] = s / 7;
  sum[i] = sum[i] + s;
}
)";

class T1Place {
 public:
  explicit T1Place(const test::Replacements& kernel = {}) {
    write("window.cu", test::replace(kWindow, kernel));
    write("plain.cu", kPlainWindow);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  TuningTask task(const test::Replacements& changes = {}) const {
    return test::opened(
        parse_space_file(space_of(test::replace(kT1, changes)), folder_ / "window.json"));
  }
  std::string space_of(const std::string& t1) const {
    return t1_as_space(t1, folder_ / "window.json",
                       {.reference = folder_ / "plain.cu", .target = "l4"});
  }
  std::string gate(const TuningTask& opened) const {
    test::Bench bench(opened, test::device_under_test());
    return bench.gate(opened.templates[0], opened.space.presets().at(0).config, "quick").finding;
  }
  const test::ScratchFolder& folder() const { return folder_; }
  std::string refused(const test::Replacements& changes) const {
    return test::message_of<UserError>([&] { task(changes); });
  }

 private:
  test::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("T1: a kernel runs as it is, with Kernel Tuner's blocks and grids") {
  const T1Place place;
  const TuningTask task = place.task();
  CHECK(task.file.name == "window_sum");
  CHECK(task.space.count() == 8 + 8 + 4);  // 512 over a tile of 4 leaves blocks up to 128
  const Config& config = task.space.presets().at(0).config;
  const LaunchConfig launch =
      task.templates[0].require_plan(config, task.scope(task.problem->shape())).config;
  CHECK(launch.block == Dim3{64, 1, 1});
  CHECK(launch.grid == Dim3{8, 1, 1});  // 1000 over 64 x 2, rounded up
  CHECK(task.templates[0].options() == std::vector<std::string>{"--use_fast_math"});
  CHECK(place.gate(task) == Finding::kPassed);
  const T1Place short_sum(test::Replacements{{"k <= 2 * radius", "k < 2 * radius"}});
  CHECK(short_sum.gate(short_sum.task()) == Finding::kWrong);
  const T1Place overwritten(test::Replacements{{"sum[i] += s", "sum[i] = s"}});
  CHECK(overwritten.gate(overwritten.task()) == Finding::kWrong);
}

TEST_CASE("T1: a symbol in constant memory is filled") {
  const T1Place place;
  place.write("window.cu",
              "__constant__ float w[7];\n" +
                  test::replace(kWindow, {{"s += in[i + k]", "s += w[k] * in[i + k]"}}));
  place.write("plain.cu",
              "__constant__ float w[7];\n" +
                  test::replace(kPlainWindow, {{"s += in[i + k]", "s += w[k] * in[i + k]"}}));
  const test::Replacements with_w = {
      {R"(   {"Name": "n",)",
       R"(   {"Name": "w", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
    "MemType": "Constant", "FillType": "Random", "Size": "2 * max(radius) + 1"},
   {"Name": "n",)"}};
  CHECK(place.gate(place.task(with_w)) == Finding::kPassed);
  place.write("window.cu",
              "__constant__ float w[7];\n" +
                  test::replace(kWindow, {{"s += in[i + k]", "s += w[0] * in[i + k]"}}));
  CHECK(place.gate(place.task(with_w)) == Finding::kWrong);
}

TEST_CASE("T1: what is in constant memory is an argument too where the kernel has it") {
  const T1Place place;
  const auto source = [](const char* text) {
    return "__constant__ float w[7];\n" +
           test::replace(text, {{"float* sum, int n", "float* sum, const float* v, int n"},
                                {"s += in[i + k]", "s += (w[k] + v[k]) * in[i + k]"}});
  };
  const test::Replacements with_w = {
      {R"(   {"Name": "n",)",
       R"(   {"Name": "w", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
    "MemType": "Constant", "FillType": "Random", "Size": "2 * max(radius) + 1"},
   {"Name": "n",)"}};
  place.write("window.cu", source(kWindow));
  place.write("plain.cu", source(kPlainWindow));
  CHECK(place.gate(place.task(with_w)) == Finding::kPassed);
  // The plain kernel may do with the symbol alone.
  place.write("plain.cu",
              "__constant__ float w[7];\n" +
                  test::replace(kPlainWindow, {{"s += in[i + k]", "s += 2 * w[k] * in[i + k]"}}));
  CHECK(place.gate(place.task(with_w)) == Finding::kPassed);
  place.write("window.cu", test::replace(source(kWindow), {{"v[k]) *", "v[0]) *"}}));
  CHECK(place.gate(place.task(with_w)) == Finding::kWrong);
}

TEST_CASE("T1: the kernel itself as the reference") {
  const T1Place place;
  const auto opened = [&](const test::Replacements& changes = {}) {
    const std::string text =
        t1_as_space(test::replace(kT1, changes), place.folder() / "window.json",
                    {.reference = "self", .target = "l4"});
    return test::opened(parse_space_file(text, "window.json"));
  };
  place.write("plain.cu", "no CUDA at all");
  const TuningTask task = opened();
  CHECK(place.gate(task) == Finding::kPassed);
  const kernel::Template& reference = *task.problem->plain_kernel();
  CHECK(reference.kernel() == "window");
  const LaunchConfig launch =
      reference.require_plan(Config(), task.scope(task.problem->shape())).config;
  CHECK(launch.block == Dim3{64, 1, 1});
  CHECK(launch.grid == Dim3{8, 1, 1});
  CHECK(test::has(reference.cuda_text(), "#define tile_size_x 2\n"));
  // Without Defaults it is the valid config nearest to the first values.
  const TuningTask first = opened({{R"(, "Default": 64)", ""}});
  CHECK(test::has(first.problem->plain_kernel()->cuda_text(),
                  "#define block_size_x 32\n#define tile_size_x 1\n"));
  CHECK(first.space.presets().at(0).name == "reference");
  // What differs from one config to another is found, what all have in common is not.
  place.write("window.cu", test::replace(kWindow, {{"out[i] = s / 7", "out[i] = s / 8"}}));
  CHECK(place.gate(opened()) == Finding::kPassed);
  place.write("window.cu",
              test::replace(kWindow, {{"out[i] = s / 7", "out[i] = s / (5 + tile_size_x)"}}));
  Config other = opened().space.presets().at(0).config;
  other.set("tile_size_x", std::int64_t{4});
  const TuningTask differs = opened();
  test::Bench bench(differs, test::device_under_test());
  CHECK(bench.gate(differs.templates[0], other, "quick").finding == Finding::kWrong);
}

TEST_CASE("T1: what Kernel Tuner defines is there, and headers of a host's") {
  const T1Place place;
  const std::string guard = R"(#include <stdio.h>
#include "stdint.h"
#ifndef kernel_tuner
#define block_size_x 16
#define tile_size_x 1
#endif
static_assert(kernel_tuner == 1 && block_size_y == 1 && block_size_z == 1);
static_assert(grid_size_x == (1000 + block_size_x * tile_size_x - 1) / (block_size_x * tile_size_x));
static_assert(grid_size_y == 1);
)";
  place.write("window.cu", guard + test::replace(kWindow, {{"int t = 0", "int32_t t = 0"}}));
  place.write("plain.cu", "#include <math.h>\n#ifndef kernel_tuner\n#error\n#endif\n" +
                              std::string(kPlainWindow));
  const TuningTask task = place.task();
  CHECK(place.gate(task) == Finding::kPassed);
  // What a source does not name is not defined, so that it may be a name of its own.
  place.write("window.cu",
              test::replace(kWindow, {{"float s = 0", "int grid_size = 1; float s = 0"}}));
  const std::string text =
      place.task().templates[0].render(task.space.presets().at(0).config, {}).text;
  CHECK_FALSE(test::has(text, "define kernel_tuner"));
  CHECK_FALSE(test::has(text, "grid_size_x"));
}

TEST_CASE("T1: a reference in double has twice the dynamic shared memory") {
  const T1Place place;
  place.write("window.cu", test::replace(kWindow, {{"float s = 0;",
                                                    "extern __shared__ float parts[]; float& s = "
                                                    "parts[threadIdx.x]; s = 0;"}}));
  const std::string text = t1_as_space(
      test::replace(kT1, {{R"("SharedMemory": 0)", R"("SharedMemory": "4 * block_size_x")"}}),
      place.folder() / "window.json", {.reference = "self", .target = "l4"});
  CHECK(place.gate(test::opened(parse_space_file(text, "window.json"))) == Finding::kPassed);
}

TEST_CASE("T1: what BAT defines: numbers of BenchmarkConfig, and launches in capitals") {
  const T1Place place;
  place.write("window.cu", std::string(kWindow) + R"(
static_assert(limit == 512 && BLOCK_SIZE_X == block_size_x && GRID_SIZE_Y == 1);
static_assert(GRID_SIZE_X == (1000 + block_size_x * tile_size_x - 1) / (block_size_x * tile_size_x));
)");
  place.write("plain.cu", std::string(kPlainWindow) + "static_assert(limit == 512);\n");
  CHECK(
      place.gate(place.task({{R"("limit": 512)", R"("limit": 512, "data": "x", "part": 0.5)"}})) ==
      Finding::kPassed);
}

TEST_CASE("T1: numbers in quotes") {
  const T1Place place;
  CHECK(place.gate(place.task({{R"("FillValue": 1000)", R"("FillValue": "1000")"},
                               {R"("FillValue": 1.5)", R"("FillValue": "3 / 2")"}})) ==
        Finding::kPassed);
  CHECK(test::has(place.refused({{R"("FillValue": 1000)", R"("FillValue": "[1, 2]")"}}),
                  "FillValue: expected a number"));
}

TEST_CASE("T1: f64 needs no stated tolerance, and may have one") {
  const T1Place place;
  const auto in_double = [](const char* text) {
    return test::replace(text, {{"float s", "double s"},
                                {"float* out, const float* in", "double* out, const double* in"},
                                {"float* sum", "double* sum"}});
  };
  place.write("window.cu", in_double(kWindow));
  place.write("plain.cu", in_double(kPlainWindow));
  const test::Replacements changes = {
      {R"("Name": "out", "Type": "float")", R"("Name": "out", "Type": "double")"},
      {R"("Name": "in", "Type": "float")", R"("Name": "in", "Type": "double")"},
      {R"("Name": "sum", "Type": "float")", R"("Name": "sum", "Type": "double")"}};
  CHECK(place.gate(place.task(changes)) == Finding::kPassed);
  place.write("window.cu", test::replace(in_double(kWindow), {{"s / 7", "s / 7.0001"}}));
  CHECK(place.gate(place.task(changes)) != Finding::kPassed);
}

TEST_CASE("T1: data of a Generator are random") {
  const T1Place place;
  CHECK(place.gate(place.task({{R"("FillType": "Random")", R"("FillType": "Generator",
    "DataSource": "i")"}})) == Finding::kPassed);
}

TEST_CASE("T1: a grid of GlobalSize, and blocks that nobody sized") {
  const T1Place place;
  const auto grid = [&](test::Replacements changes) {
    changes.emplace_back(R"("Size": "ProblemSize[0]")", R"("Size": 1000)");
    changes.emplace_back(R"("Size": "ProblemSize[0] + )", R"("Size": "1000 + )");
    const TuningTask task = place.task(changes);
    return task.templates[0]
        .require_plan(task.space.presets().at(0).config, task.scope(task.problem->shape()))
        .config.grid.x;
  };
  const std::string size = R"("ProblemSize": [1000],)",
                    divisors = R"("GridDivX": ["block_size_x", "tile_size_x"],)";
  CHECK(grid({{size, R"("GlobalSizeType": "OpenCL", "GlobalSize": {"X": "1000"},)"}}) == 16);
  CHECK(grid({{size, R"("GlobalSizeType": "CUDA", "GlobalSize": {"X": "1000 // 7"},)"}}) == 142);
  CHECK(grid({{divisors, ""}}) == 16);
  CHECK(grid({{divisors, R"("GridDivX": [],)"}}) == 16);
  CHECK(grid({{divisors, R"("GridDivX": ["block_size_x * tile_size_x // 2"],)"}}) == 16);
  CHECK(grid({{divisors, R"("GridDivX": "tile_size_x",)"}}) == 500);
  CHECK(grid({{divisors, R"("GridDivX": [100],)"}}) == 10);
  const std::string global = R"("GlobalSizeType": "CUDA", "GlobalSize": )";
  CHECK(grid({{size, global + R"(["block_size_x", "1"],)"}}) == 64);
  CHECK(grid({{size, global + R"("1000 // block_size_x",)"}}) == 15);
  // By Kernel Tuner a block of nobody's size has 256 threads, and a grid is not divided by them.
  const auto unsized = [&](const char* divisors_now) {
    return grid({{divisors, divisors_now},
                 {R"("LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},)", ""},
                 {R"({"Name": "block_size_x",)", R"({"Name": "threads",)"},
                 {R"("32 <= block_size_x)", R"("32 <= threads)"}});
  };
  CHECK(unsized("") == 1000);
  CHECK(unsized(R"("GridDivX": ["threads"],)") == 16);
  CHECK(grid({{R"("LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},)", ""}}) == 8);
}

TEST_CASE("T1: thousands of files that are nearly right give a space or a clear error") {
  constexpr const char* hostile[] = {"\"",
                                     "{",
                                     "]",
                                     "null",
                                     "1e300",
                                     "-1",
                                     "[]",
                                     "NaN",
                                     "block_size_x",
                                     "ProblemSize[0]",
                                     "ProblemSize[9]",
                                     "max(radius)",
                                     "max(in)",
                                     "*",
                                     "//",
                                     "Constant",
                                     "double",
                                     "\\u0000",
                                     "\xff",
                                     ",",
                                     "0"};
  const T1Place place;
  Random random(3);
  int right = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = kT1;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k)
      test::mutate(text, random, hostile, 8, [&](std::size_t at) {
        text.insert(at, text.substr(random.below(text.size()), 12));
      });
    try {
      parse_space_file(place.space_of(text), "window.json");
      ++right;
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(right > 100);
  CHECK(refused > 1000);
}

TEST_CASE("T1: types by C's names and NumPy's, which are compared exactly") {
  const T1Place place(test::Replacements{{"float* sum", "unsigned long long* sum"},
                                         {"int n", "bool n"},
                                         {"i >= n", "i >= 1000 * n"},
                                         {"sum[i] += s", "sum[i] += in[i] > 1"}});
  const std::string plain = test::replace(kPlainWindow, {{"float* sum", "unsigned long long* sum"},
                                                         {"int n", "bool n"},
                                                         {"i >= n", "i >= 1000 * n"},
                                                         {"sum[i] + s", "sum[i] + (in[i] > 1)"}});
  place.write("plain.cu", plain);
  const auto of = [](const char* type, const char* flag, const char* start) {
    return test::Replacements{
        {R"("Name": "sum", "Type": "float")",
         R"("Name": "sum", "Type": ")" + std::string(type) + '"'},
        {R"("Size": 1000, "FillValue": 1.5)",
         R"("Size": 1000, "FillValue": )" + std::string(start)},
        {R"("Name": "n", "Type": "int")", R"("Name": "n", "Type": ")" + std::string(flag) + '"'},
        {R"("Scalar", "FillValue": 1000)", R"("Scalar", "FillValue": 1)"}};
  };
  CHECK(place.gate(place.task(of("uint64", "bool", "9007199254740993"))) == Finding::kPassed);
  place.write("plain.cu", test::replace(plain, {{"(in[i] > 1)", "(in[i] > 1) + (i == 999)"}}));
  CHECK(place.gate(place.task(of("unsigned long long*", "bool_", "9007199254740993"))) ==
        Finding::kWrong);
  CHECK(test::has(place.refused(of("uint8", "bool", "256")), "a number that u8 can hold"));
}

TEST_CASE("T1: what cannot be run is told with its place") {
  const T1Place place;
  const auto says = [&](const test::Replacements& changes, const char* words) {
    const std::string said = place.refused(changes);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says({{R"("CUDA")", R"("OpenCL")"}}, "window.json:10:15: Language: expected CUDA");
  says({{R"("KernelFile": "window.cu")", R"("KernelFile": "none.cu")"}}, "there is no file");
  says({{R"("Type": "int", "MemoryType")", R"("Type": "int17", "MemoryType")"}},
       "expected a type of C or NumPy");
  says({{R"("FillValue": 1000}]}})", R"("FillValue": 1e300}]}})"}}, "a number that i32 can hold");
  says({{R"("Size": 1000)", R"("Size": "block_size_x")"}}, "must not depend on its config");
  says({{R"("FillType": "Random")", R"("FillType": "BinaryRaw")"}},
       "Random, Constant or Generator");
  says({{R"("ProblemSize": [1000])", R"("ProblemSize": ["block_size_x"])"}}, "window.json:");
  place.write("plain.cu", std::string(kPlainWindow) + "__global__ void other() {}");
  says({}, "expected one __global__ function, or one called window");
}

}  // namespace fa_tune::test
