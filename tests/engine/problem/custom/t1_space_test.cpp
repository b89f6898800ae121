// A T1 file's kernel, run as it is beside a plain one.

#include "engine/community/t1/t1_space.hpp"

#include <doctest/doctest.h>

#include "engine/tuner/task/variant.hpp"
#include "tests/engine/problem/custom/t1_place.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::gate;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

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

}  // namespace fa_tune::test
