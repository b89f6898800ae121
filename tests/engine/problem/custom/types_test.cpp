// Kernels of a user's own with the types that CUDA kernels have: right ones pass, wrong ones do
// not.

#include <algorithm>
#include <cstring>
#include <span>

#include <doctest/doctest.h>

#include "engine/export/package_json.hpp"
#include "engine/problem/custom/custom.hpp"
#include "engine/problem/custom/inputs.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/util/npy.hpp"
#include "tests/engine/problem/custom/typed_kernel.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::problem;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

const TypedKernel kHistogram{
    .arguments =
        "    - {name: x, type: u8, shape: [n], fill: {integers: [0, 255]}}\n"
        "    - {name: bins, type: u32, shape: [256], role: inout, fill: {value: 0}}\n",
    .parameters = "const unsigned char* x, unsigned* bins",
    .plain = "atomicAdd(&bins[x[i]], 1u);"};

const TypedKernel kMask{.arguments =
                            "    - {name: x, type: f32, shape: [n]}\n"
                            "    - {name: given, type: bool, shape: [n]}\n"
                            "    - {name: mask, type: bool, shape: [n], role: output}\n"
                            "    - {name: flip, type: bool, value: true}\n",
                        .parameters = "const float* x, const bool* given, bool* mask, bool flip",
                        .plain = "mask[i] = (x[i] > 0.5f && given[i]) != flip;"};

const TypedKernel kComplex{
    .arguments =
        "    - {name: x, type: complex64, shape: [n]}\n"
        "    - {name: y, type: cuComplex, shape: [n]}\n"
        "    - {name: z, type: complex64, shape: [n], role: output}\n"
        "    - {name: a, type: complex64, value: [0.5, -1.25]}\n",
    .parameters = "const cuComplex* x, const cuComplex* y, cuComplex* z, cuComplex a",
    .plain = "z[i] = cuCmulf(a, cuCmulf(x[i], y[i]));",
    .before = "#include <cuComplex.h>"};

const TypedKernel kParticles{
    .arguments =
        "    - {name: p, type: float4, shape: [n]}\n"
        "    - {name: q, type: f32x4, shape: [n], role: output}\n"
        "    - name: how\n"
        "      type: {struct: [{scale: f32}, {flag: bool}, {shift: f32x4}, {bits: u16}, "
        "{id: i64}]}\n"
        "      value: {scale: 2.5, flag: true, shift: [1, 2, 3, 4.5], bits: 65535, id: n - 1}\n",
    .parameters = "const float4* p, float4* q, How how",
    .plain =
        "float4 v = p[i]; float k = how.flag ? how.scale : 0; "
        "q[i] = make_float4(k * v.x + how.shift.x, v.y + how.shift.y, "
        "v.z * how.shift.z + (i == how.id), v.w - how.shift.w + how.bits);",
    .before =
        "struct How { float scale; bool flag; float4 shift; unsigned short bits; long long "
        "id; };"};

const TypedKernel kSmallFloats{
    .arguments =
        "    - {name: x, type: e4m3, shape: [n]}\n"
        "    - {name: y, type: e5m2, shape: [n]}\n"
        "    - {name: z, type: f32, shape: [n], role: output}\n"
        "    - {name: w, type: e5m2, shape: [n], role: output}\n",
    .parameters = "const __nv_fp8_e4m3* x, const __nv_fp8_e5m2* y, float* z, __nv_fp8_e5m2* w",
    .plain = "z[i] = float(x[i]) * float(y[i]); w[i] = __nv_fp8_e5m2(float(x[i]) + 0.25f);",
    .before = "#include <cuda_fp8.h>"};

void passes(const TypedKernel& kernel, const std::string& mine) {
  const std::string said = kernel.gate(mine);
  CHECK_MESSAGE(said == "passed: ", said);
}

void fails(const TypedKernel& kernel, const std::string& mine, const std::string& words) {
  const std::string said = kernel.gate(mine);
  CHECK_MESSAGE(has(said, words), said);
}

}  // namespace

TEST_CASE("types: a histogram of bytes") {
  passes(kHistogram, kHistogram.plain);
  fails(kHistogram, "atomicAdd(&bins[x[i] & 127], 1u);", "wrong: bins[");
  fails(kHistogram, "if (x[i] != 255) atomicAdd(&bins[x[i]], 1u);", "wrong: bins[255] = 0");
}

TEST_CASE("types: a gather by PyTorch's indices, which end where the tensor does") {
  passes(kGather, kGather.plain);
  fails(kGather, "y[i] = x[at[i] == n - 1 ? 0 : at[i]];", "wrong: y[");
}

TEST_CASE("types: a mask of bools is 0 or 1") {
  passes(kMask, kMask.plain);
  fails(kMask, "mask[i] = (x[i] > 0.5f && given[i]) == flip;", "wrong: mask[");
  fails(kMask, "((char*)mask)[i] = (x[i] > 0.5f && given[i]) != flip ? 2 : 0;",
        "= 2, which is no bool (0 or 1), expected 1");
  fails(kMask, "if (i > 0 || n == 1) mask[i] = (x[i] > 0.5f && given[i]) != flip;", "mask[0]");
  TypedKernel odd = kMask;
  odd.plain = "((char*)mask)[i] = 3;";
  CHECK_MESSAGE(has(odd.refused(), "a bool must be 0 or 1"), odd.refused());
}

TEST_CASE("types: integers are compared to their last of 64 bits") {
  passes(kHashes, kHashes.plain);
  fails(kHashes, "y[i] = (x[i] ^ key) + (i == 332);", "wrong: y[332] = ");
  fails(kHashes, "y[i] = (x[i] & ~1ull) ^ key;", "elements are off");
  // Nine quadrillion and one is no double.
  TypedKernel large = kHashes;
  large.plain = "y[i] = 9007199254740993ull;";
  fails(large, "y[i] = 9007199254740993ull - (i == 7);",
        "y[7] = 9007199254740992, expected 9007199254740993; 1 of 333 elements are off");
}

TEST_CASE("types: complex numbers") {
  passes(kComplex, "z[i] = cuCmulf(cuCmulf(x[i], a), y[i]);");
  fails(kComplex, "z[i] = cuCmulf(a, cuCmulf(x[i], cuConjf(y[i])));", "wrong: z[");
  fails(kComplex, "z[i] = cuCmulf(a, cuCmulf(x[i], y[i])); z[i].y = -z[i].y;", "wrong: z[");
  // A scalar that is written into the kernel.
  fails(kComplex, "z[i] = cuCmulf(make_cuComplex(0.5f, -1.25f), cuCmulf(x[i], y[i]));", "wrong");
}

TEST_CASE("types: a struct by value, and vectors") {
  passes(kParticles, kParticles.plain);
  fails(kParticles, replace(kParticles.plain, {{"how.flag ?", "!how.flag ?"}}), "wrong: q[");
  fails(kParticles, replace(kParticles.plain, {{"i == how.id", "i == how.id + 1"}}), "wrong: q[");
  fails(kParticles, replace(kParticles.plain, {{"+ how.bits", "+ (short)how.bits"}}), "wrong: q[");
}

TEST_CASE("types: 8-bit floats") {
  passes(kSmallFloats, kSmallFloats.plain);
  fails(kSmallFloats, replace(kSmallFloats.plain, {{"float(y[i])", "float(y[i]) * 1.01f"}}),
        "wrong: z[");
  fails(kSmallFloats, replace(kSmallFloats.plain, {{"+ 0.25f", "+ 2.25f"}}), "wrong: w[");
}

TEST_CASE("types: structs lie as C's do, and their padding is 0") {
  const ScratchFolder folder;
  const TuningTask task = kParticles.task(folder, kParticles.plain);
  const Instance instance = task.problem->make({{"n", std::int64_t{5}}}, Inputs::normal, 1);
  const Scalar& how = instance.scalars.at(0);
  struct How {
    float scale;
    bool flag;
    alignas(16) float shift[4];
    std::uint16_t bits;
    std::int64_t id;
  };
  REQUIRE(how.bytes.size() == sizeof(How));
  How wanted;
  std::memset(static_cast<void*>(&wanted), 0, sizeof wanted);
  wanted.scale = 2.5F;
  wanted.flag = true;
  const float shift[4] = {1, 2, 3, 4.5F};
  std::memcpy(wanted.shift, shift, sizeof shift);
  wanted.bits = 65535;
  wanted.id = 4;
  // Padding too, which is 0.
  CHECK(std::ranges::equal(how.bytes, std::as_bytes(std::span(&wanted, 1))));
  // Its floats are others where scalars are, in place.
  const Instance rare = task.problem->make({{"n", std::int64_t{5}}}, Inputs::rare, 1);
  How varied;
  std::memcpy(static_cast<void*>(&varied), rare.scalars.at(0).bytes.data(), sizeof varied);
  CHECK(varied.scale != 2.5F);
  CHECK(varied.shift[3] != 4.5F);
  CHECK(varied.id == 4);
  // CUDA's vectors are aligned as a whole, but for those of three.
  CustomType three;
  three.lanes = 3;
  CHECK(layout_of(three).alignment == 4);
  CHECK(layout_of(three).size == 12);
  CustomType doubles{.number = DType::f64, .lanes = 4, .complex = false, .fields = {}};
  CHECK(layout_of(doubles).alignment == 16);
  const auto notes = task.problem->argument_notes(task.problem->shape());
  CHECK(notes[0].second == "pointer to f32x4 [2000], read");
  CHECK(notes[2].second ==
        "struct {scale: f32, flag: bool, shift: f32x4, bits: u16, id: i64}, 2.5 1 1 2 3 4.5 "
        "65535 n - 1");
}

TEST_CASE("types: a space chooses kinds of input, and a tolerance is set from outside") {
  // Of numbers below 100 alone; the others are in the kinds that are left out.
  TypedKernel kernel = kGather;
  const std::string mine = "y[i] = fabsf(x[at[i]]) > 25 ? 0 : x[at[i]];";
  fails(kernel, mine, "wrong: y[");
  kernel.more = "  inputs: [normal, tripled, negated, rare]\n  hidden: {n: [1, 200]}\n";
  passes(kernel, mine);
  const ScratchFolder folder;
  const TuningTask task = kernel.task(folder, mine);
  CHECK(has(task.problem->notes().at(0), "gated on normal, tripled, negated, rare alone"));
  for (std::uint64_t seed = 1; seed < 20; ++seed)
    for (const GateCase& each : hidden_cases(*task.problem, seed))
      CHECK((each.inputs == Inputs::normal || each.inputs == Inputs::tripled ||
             each.inputs == Inputs::negated));
  kernel.more = "  inputs: [tripled]\n";
  CHECK(has(kernel.refused(), "typed.yaml:6:11: inputs: expected a list with normal"));
  kernel.more = "  inputs: [normal, tripld]\n";
  CHECK(has(kernel.refused(), "inputs: expected one of normal"));

  const auto set = [&](const std::string& more, const std::vector<std::string>& changes) {
    kernel.more = more;
    kernel.write(folder.path(), "y[i] = x[at[i]] * 1.0001f;");
    const TuningTask set_task =
        opened(with_settings(load_space_file((folder / "typed.yaml").string(), root()), changes));
    Bench bench(set_task, device_under_test());
    return bench.gate(set_task.templates[0], set_task.space.at(0), "quick").finding;
  };
  CHECK(set("", {}) == Finding::kWrong);
  CHECK(set("", {"tolerance.relative=1e-3"}) == Finding::kPassed);
  CHECK(set("", {"sizes.n=500", "tolerance.relative=1e-5"}) == Finding::kWrong);
  CHECK(set("  tolerance: {absolute: 0}\n", {"tolerance.relative=1e-3"}) == Finding::kPassed);
  CHECK(set("  tolerance:\n    absolute: 1\n", {"tolerance.absolute=1e-9"}) == Finding::kWrong);
  CHECK(set("  tolerance:\n    absolute: 0\n", {"tolerance.relative=1e-3"}) == Finding::kPassed);
}

TEST_CASE("types: a sparse matrix by rows, and a permutation, times a vector") {
  const TypedKernel kernel{
      .arguments =
          "    - {name: rows, type: i32, shape: [n + 1], fill: {offsets: 4 * n}}\n"
          "    - {name: columns, type: u16, shape: [4 * n], fill: {integers: [0, n - 1]}}\n"
          "    - {name: order, type: u32, shape: [n], fill: {permutation: n}}\n"
          "    - {name: values, type: f32, shape: [4 * n]}\n"
          "    - {name: x, type: f32, shape: [n]}\n"
          "    - {name: y, type: f32, shape: [n], role: output}\n",
      .parameters =
          "const int* rows, const unsigned short* columns, const unsigned* order, "
          "const float* values, const float* x, float* y",
      .plain =
          "float sum = 0; for (int k = rows[i]; k < rows[i + 1]; ++k) "
          "sum += values[k] * x[columns[k]]; y[order[i]] = sum;"};
  passes(kernel, kernel.plain);
  fails(kernel, replace(kernel.plain, {{"int k = rows[i]", "int k = rows[i] + (i == 0)"}}),
        "wrong: y[");
  fails(kernel, replace(kernel.plain, {{"y[order[i]]", "y[i]"}}), "wrong: y[");
}

TEST_CASE("types: a stated tolerance of complex numbers is of their size") {
  Tensor output{.name = "z", .type = DType::f32, .role = Role::output, .dims = {1, 2}, .bytes = {}};
  output.complex = true;
  const Expectation made = stated_expectation(output, {3, -4}, {.absolute = 1, .relative = 0.1});
  CHECK(made.bound == std::vector<double>{1.5, 1.5});
}

TEST_CASE("types: what cannot be is said with its place") {
  const auto says = [](TypedKernel kernel, const Replacements& changes, const std::string& words) {
    kernel.arguments = replace(kernel.arguments, changes);
    const std::string said = kernel.refused();
    CHECK_MESSAGE(has(said, words), said);
  };
  says(kHistogram, {{"255", "256"}},
       "typed.yaml:7:45: fill: 'x' has integers from 0 to 256, and u8 holds 0 to 255");
  says(kHistogram, {{"[0, 255]", "[9, 9 - n]"}}, "has integers from 9 to -1991: there are none");
  says(kGather, {{"[0, n - 1]", "[0, m - 1]"}}, "typed.yaml:8:");
  says(kGather, {{"{integers: [0, n - 1]}", "{permutation: 7}"}}, "a permutation of 7 is stated");
  says(kHashes, {{"18446744073709551557", "-1"}}, "'key' is -1, which a u64 cannot hold");
  says(kHashes, {{"value: 18446744073709551557", "value: 0.5"}},
       "expected an integer, found '0.5'");
  says(kMask, {{"value: true", "value: 2"}}, "'flip' is 2, which a bool cannot hold");
  says(kMask, {{"type: bool, shape: [n]}", "type: bool, shape: [n], fill: normal}"}},
       "a bool is drawn from {integers: [0, 1]}");
  says(kComplex, {{"[0.5, -1.25]", "0.5"}}, "typed.yaml:10:");
  says(kComplex, {{"[0.5, -1.25]", "[0.5]"}}, "expected 2 numbers for complex64");
  says(kParticles, {{"scale: 2.5, flag", "flag"}}, "a value for each field of struct {scale: f32");
  says(kParticles, {{"scale: 2.5", "scala: 2.5"}}, "scale");
  says(kParticles, {{"type: float4", "type: {struct: [{x: f32}]}"}},
       "a buffer holds numbers, vectors or complex numbers");
  TypedKernel packed = kGather;
  packed.before = "#include <cuda_fp16.h>\n// no half2 here\n__device__ half2 twice(half2 x);";
  CHECK_MESSAGE(has(packed.refused(),
                    "typed.yaml:11:14: the reference uses half2, which has no "
                    "counterpart in double"),
                packed.refused());
  packed.more = "  tolerance: {absolute: 0}\n";
  passes(packed, packed.plain);
}

TEST_CASE("types: arrays of NumPy's types") {
  const auto files = [](const std::string& type, const std::string& code, auto given, auto wanted) {
    const ScratchFolder folder;
    const auto n = static_cast<std::uint64_t>(given.size());
    const auto dims = code[1] == 'c' ? n / 2 : n;
    write_text(folder / "x.npy", npy_text(code, {dims}, std::as_bytes(std::span(given))));
    write_text(folder / "y.npy", npy_text(code, {dims}, std::as_bytes(std::span(wanted))));
    const std::string c_type = code[1] == 'c' ? "float2" : type;
    TypedKernel kernel{.arguments = "    - {name: x, type: " + type +
                                    ", shape: [n], fill: {file: x.npy}}\n    - {name: y, type: " +
                                    type + ", shape: [n], role: output}\n",
                       .parameters = "const " + c_type + "* x, " + c_type + "* y",
                       .plain = "",
                       .before = "#include <cstdint>"};
    if (code[1] == 'c') kernel.more = "  tolerance: {relative: 1e-6}\n";
    write_text(folder / "mine.cu",
               kernel.source("mine", code[1] == 'c' ? "y[i].x = -x[i].y; y[i].y = x[i].x;"
                                                    : "y[i] = x[i] + (x[i] == 0);"));
    write_text(
        folder / "typed.yaml",
        replace(kernel.yaml(),
                {{"[{n: 2000}, {n: 1}, {n: 333}]", "{n: " + std::to_string(dims) + "}"},
                 {"  reference: {source: plain.cu, kernel: plain, launch: {grid: [8], block: "
                  "[256]}}\n",
                  "  expected: {y: y.npy}\n"}}));
    const TuningTask task = opened(load_space_file((folder / "typed.yaml").string(), root()));
    Bench bench(task, device_under_test());
    return bench.gate(task.templates[0], task.space.at(0), "quick").finding;
  };
  using Bytes = std::vector<std::uint8_t>;
  using Longs = std::vector<std::uint64_t>;
  CHECK(files("uint8_t", "|u1", Bytes{0, 1, 255}, Bytes{1, 1, 255}) == Finding::kPassed);
  CHECK(files("bool", "|b1", Bytes{0, 1, 1}, Bytes{1, 1, 1}) == Finding::kPassed);
  CHECK(files("bool", "|b1", Bytes{0, 1, 1}, Bytes{1, 1, 0}) == Finding::kWrong);
  CHECK(files("int16_t", "<i2", std::vector<std::int16_t>{-7, 0},
              std::vector<std::int16_t>{-7, 1}) == Finding::kPassed);
  const std::uint64_t odd = (std::uint64_t{1} << 60) + 1;
  CHECK(files("uint64_t", "<u8", Longs{odd, 0}, Longs{odd, 1}) == Finding::kPassed);
  CHECK(files("uint64_t", "<u8", Longs{odd, 0}, Longs{odd - 1, 1}) == Finding::kWrong);
  CHECK(files("complex64", "<c8", std::vector<float>{1, 2, 3, 4},
              std::vector<float>{-2, 1, -4, 3}) == Finding::kPassed);
  CHECK(has(message_of<UserError>([&] {
              files("bool", "|b1", Bytes{0, 2}, Bytes{1, 1});
            }),
            "neither 0 nor 1"));
  CHECK(has(message_of<UserError>([&] {
              files("int8_t", "|u1", Bytes{0, 2}, Bytes{1, 1});
            }),
            "holds |u1, expected |i1"));
}

}  // namespace fa_tune::test
