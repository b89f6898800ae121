// What a user's kernel is compared with: a plain reference, how far off a kernel may be, expected
// values.

#include <algorithm>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/half.hpp"
#include "engine/util/npy.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::problem;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

TEST_CASE("custom: the gate refuses a wrong kernel of a user's") {
  const auto finding = [](const std::string& from, const std::string& to) {
    const Verdict verdict = test::CustomSpace().gate_kernel(from, to);
    return verdict.finding + ": " + verdict.message;
  };
  CHECK(test::CustomSpace().gate().passed());
  CHECK(test::has(finding("step(x[i], y[i], a)", "step(x[i], y[i], a) * 1.0001f"), "wrong: y["));
  // One element of the last, incomplete block.
  CHECK(test::has(finding("if (i < n) y", "if (i < n - 1) y"), "wrong: y["));
  CHECK(test::has(finding("if (i < n) y", "if (i <= n) y"), "past the end of"));
  // Of a number that is hardly ever drawn.
  CHECK(test::has(finding("if (i < n) y[i] =", "if (i < n) y[i] = x[i] == 0 ? 0 :"), "wrong"));
  CHECK(test::has(finding("step(x[i], y[i], a);", "step(x[i], y[i], a), ((T*)x)[i] = 0;"),
                  "wrote to an input"));
  // Put back before anybody can look: a GPU leaves nothing to be seen.
  const std::string noted =
      finding("step(x[i], y[i], a);",
              "step(x[i], y[i], a); if (i == 0) { T volatile* p = (T volatile*)x; const T was = "
              "p[0]; p[0] = was + 1; p[0] = was; }");
  if (device_under_test().starts_with("emulator"))
    CHECK_MESSAGE(noted.starts_with("input_changed: "), noted);
  CHECK(test::has(finding("= step(x[i], y[i], a)", "+= blockIdx.x == 0 ? x[i] / 0 : 0"), "finite"));
  // Right for the a that is stated.
  CHECK(test::has(finding("step(x[i], y[i], a)", "step(x[i], y[i], T(2.5))"), "wrong: y["));
}

TEST_CASE("custom: numbers that are rarely met are, and other scalars than the stated one") {
  const auto verdict = [](const std::string& to, const test::Replacements& space = {}) {
    const test::CustomSpace place;
    test::write_text(place.folder() / "mine.cu",
                     test::replace(test::kCustomMine, {{"step(x[i], y[i], a)", to}}));
    return place.gate(space);
  };
  const auto refused = [&](const std::string& to, const std::string& kind) {
    const Verdict found = verdict(to);
    CHECK_MESSAGE(found.finding == Finding::kWrong, found.finding);
    CHECK_MESSAGE(test::has(found.where, kind), found.where);
  };
  refused("x[i] > 150 ? 0 : step(x[i], y[i], a)", "inputs=extreme");
  refused("x[i] == 0 ? 1 : step(x[i], y[i], a)", "inputs=rare");
  refused("x[i] != 0 && fabsf(x[i]) < 1e-37f ? 1 : step(x[i], y[i], a)", "inputs=rare");
  // A scalar in the message is the one of its case.
  const Verdict hard_coded = verdict("step(x[i], y[i], T(2.5))");
  CHECK_MESSAGE(test::has(hard_coded.where, " a="), hard_coded.where);
  const auto said = [&](const std::string& vary) {
    return verdict("step(x[i], y[i], T(2.5))", {{"value: 2.5", "value: 2.5, vary: " + vary}})
        .finding;
  };
  CHECK(said("false") == Finding::kPassed);
  CHECK(said("[2.5, 2.5]") == Finding::kPassed);
  CHECK(said("[2, 3]") == Finding::kWrong);
  const auto of = [](const char* value, const char* fill) {
    const test::CustomSpace place;
    test::write_text(place.folder() / "plain.cu",
                     test::replace(test::kCustomPlain, {{"a * x[i] + y[i]", value}}));
    test::write_text(place.folder() / "mine.cu",
                     test::replace(test::kCustomMine, {{"step(x[i], y[i], a)", value}}));
    const Verdict found =
        place.gate({{"{name: x, type: f32, shape: [n]}",
                     "{name: x, type: f32, shape: [n], fill: " + std::string(fill) + "}"}});
    CHECK_MESSAGE(found.passed(), found.message);
    return found.cases;
  };
  // What the reference has no finite result of is left out: the logarithm of 0, for both sizes.
  CHECK(of("logf(x[i]) + y[i]", "{uniform: [0, 1]}") < of("x[i] + y[i]", "{uniform: [0, 1]}"));
  // Noise is drawn within the bounds that the space states.
  CHECK(of("sqrtf(x[i] - 1) + y[i]", "{uniform: [1, 2]}") > 0);
}

// A maximum that begins at 0, or at a number that is thought to be low, is wrong for such a row.
TEST_CASE("custom: large logits have rows that are all far below zero, and rows that are not") {
  const TuningTask task = test::task("softmax.yaml");
  Constants shape = task.problem->shape();
  shape["rows"] = 4;
  shape["columns"] = 200;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance instance = task.problem->make(shape, Inputs::large_logits, seed);
    int low = 0;
    for (std::size_t row = 0; row < 4; ++row) {
      float largest = -INFINITY;
      for (std::size_t i = 0; i < 200; ++i) {
        std::uint16_t x = 0;
        std::memcpy(&x, instance.tensors[0].bytes.data() + (row * 200 + i) * sizeof x, sizeof x);
        largest = std::max(largest, from_f16(x));
      }
      low += largest < -104;
    }
    CHECK(low == 2);
  }
}

TEST_CASE("custom: products of long rows of the gate's own inputs stay in the range of fp16") {
  const TuningTask task = test::task("gemm_split_k.yaml");
  Constants shape = task.problem->shape();
  shape["m"] = shape["n"] = 64;
  const auto element = [](const problem::Tensor& tensor, std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * sizeof bits, sizeof bits);
    return from_f16(bits);
  };
  for (const std::int64_t k : {4096, 16384, 65536}) {
    shape["k"] = k;
    for (const Inputs inputs : {Inputs::distinct_rows, Inputs::large_logits, Inputs::tripled}) {
      const Instance instance = task.problem->make(shape, inputs, 7);
      double largest = 0;
      for (std::size_t row = 0; row < 64; ++row)
        for (std::size_t column = 0; column < 8; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < k; ++i)
            sum += element(instance.tensors[0], row * k + i) *
                   element(instance.tensors[1], column * k + i);
          largest = std::max(largest, std::abs(sum));
        }
      CAPTURE(k);
      CAPTURE(to_text(inputs));
      CHECK(largest < 60000);
      CHECK(largest > 100);
    }
  }
}

TEST_CASE("custom: integers that nobody writes are found where they are -1") {
  const test::CustomSpace place;
  test::write_text(place.folder() / "plain.cu",
                   "__global__ void plain(const float* x, int* y, float a, int n) {\n"
                   "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  if (i < n) y[i] = x[i] < 1 ? -1 : i;\n}\n");
  const auto gate = [&](const std::string& body) {
    test::write_text(place.folder() / "mine.cu",
                     "template <int per, typename T>\n"
                     "__global__ void scale_add(const T* x, int* y, T a, int n) {\n"
                     "  for (int k = 0; k < per; ++k) {\n"
                     "    int i = (blockIdx.x * per + k) * BLOCK + threadIdx.x;\n    " +
                         body + "\n  }\n}\n");
    const Verdict verdict = place.gate(
        {{"y, type: f32, shape: [n], role: inout", "y, type: i32, shape: [n], role: output"}});
    return verdict.finding + ": " + verdict.message;
  };
  CHECK(gate("if (i < n) y[i] = x[i] < 1 ? -1 : i;") == "passed: ");
  const std::string unwritten = gate("if (i < n && x[i] >= 1) y[i] = i;");
  CHECK_MESSAGE(test::has(unwritten, "is never written"), unwritten);
}

TEST_CASE("custom: a refusal by a measured bound says how to state another") {
  const test::CustomSpace place;
  test::write_text(place.folder() / "step.cuh",
                   test::replace(test::kCustomStep, {{"a * x + y", "(a * x + y) * T(1.000005)"}}));
  const Verdict little = place.gate();
  CHECK_MESSAGE(test::has(little.message, "state `tolerance: {absolute"), little.message);
  CHECK_FALSE(test::has(place.gate_kernel("step(x[i], y[i], a)", "0").message, "tolerance"));
}

TEST_CASE("custom: a reference is checked before it is believed") {
  const auto says = [](const std::string& from, const std::string& to, const char* words,
                       const test::Replacements& space = {}) {
    const std::string said = test::CustomSpace().refused_reference(
        test::replace(test::kCustomPlain, {{from, to}}), space);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  const test::Replacements written = {{"role: inout", "role: output"}};
  says("if (i < n) y[i] = a * x[i] + y[i];", "if (i < n / 2) y[i] = a * x[i];", "is never written",
       written);
  says("y[i];", "x[i] / 0;", "a truth must be finite");
  says("if (i < n)", "if (i <= n)", "past the end of");
  says("y[i];", "y[i]; if (i == 0) ((float*)x)[0] = 0;", "wrote to an input");
  says("y[i];", "yy[i];", "it does not compile");
  says("y[i];", R"(y[i]; if (i < n) asm("mov.b32 %0, %1;" : "=f"(y[i]) : "f"(x[i]));)",
       "a `tolerance` in the space goes without it");
  says("y[i];", "y[i]; __shared__ int last; last = i; __syncwarp(); if (i < n) y[i] += last;",
       "race");
  // No integer tells that it was never written, but for a second run over other contents.
  const std::string said = test::CustomSpace().refused_reference(
      "__global__ void plain(const float* x, int* y, float a, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n / 2) y[i] = 1;\n}\n",
      {{"y, type: f32, shape: [n], role: inout", "y, type: i32, shape: [n], role: output"}});
  CHECK_MESSAGE(test::has(said, "is never written"), said);
}

TEST_CASE("custom: how far off a kernel may be is measured, or said") {
  // A sum in another order, in float, is right; in 16 bits it is not.
  CHECK(test::CustomSpace()
            .gate({{"  reference:", "  tolerance: {absolute: 1e-3}\n  reference:"}})
            .passed());
  test::CustomSpace strict;
  test::write_text(strict.folder() / "step.cuh",
                   test::replace(test::kCustomStep, {{"a * x + y", "a * x + y + T(1e-4)"}}));
  CHECK(strict.gate().finding == Finding::kWrong);
  CHECK(strict.gate({{"  reference:", "  tolerance: {absolute: 1e-3}\n  reference:"}}).passed());
  CHECK(strict.gate({{"  reference:", "  tolerance: {absolute: 1e-5}\n  reference:"}}).finding ==
        Finding::kWrong);
}

TEST_CASE("custom: results that are all zero may be off by what is measured, or stated") {
  // x less the mean of equal numbers; a tolerance of its own holds as well.
  const test::CustomSpace place;
  test::write_text(place.folder() / "plain.cu",
                   test::replace(test::kCustomPlain, {{"a * x[i] + y[i]", "x[i] - x[i]"}}));
  test::write_text(place.folder() / "mine.cu",
                   test::replace(test::kCustomMine, {{"step(x[i], y[i], a)", "x[i] * 1e-9f"}}));
  const test::Replacements output = {{"role: inout", "role: output"}};
  const auto stated = [&](const char* tolerance) {
    test::Replacements space = output;
    space.emplace_back("  reference:", "  tolerance: " + std::string(tolerance) + "\n  reference:");
    return place.gate(space).finding;
  };
  CHECK(stated("{absolute: 1e-6}") == Finding::kPassed);
  CHECK(stated("{absolute: 1e-12}") == Finding::kWrong);
  CHECK(place.gate(output).finding == Finding::kWrong);
}

TEST_CASE("custom: a correct kernel may compute e^x another way") {
  // Small results of exp are off by as much as the last place of x is worth: 60 at e^-60.
  const test::CustomSpace place;
  const test::Replacements space = {{"{name: x, type: f32, shape: [n]}",
                                     "{name: x, type: f32, shape: [n], fill: {uniform: [-86, 0]}}"},
                                    {"role: inout", "role: output"}};
  test::write_text(place.folder() / "plain.cu",
                   test::replace(test::kCustomPlain, {{"a * x[i] + y[i]", "expf(x[i])"}}));
  const auto finding = [&](const std::string& way) {
    test::write_text(place.folder() / "mine.cu",
                     test::replace(test::kCustomMine, {{"step(x[i], y[i], a)", way}}));
    const Verdict verdict = place.gate(space);
    return verdict.finding + ": " + verdict.message;
  };
  CHECK(finding("expf(x[i])") == "passed: ");
  CHECK(finding("exp2f(x[i] * 1.44269504f)") == "passed: ");
  CHECK(test::has(finding("exp2f(x[i] * 1.4427f)"), "wrong"));
  CHECK(test::has(finding("expf(x[i]) * (x[i] < -40 ? 1.0005f : 1)"), "wrong"));
}

TEST_CASE("custom: expected values may stand in a file instead of a reference") {
  const test::CustomSpace place;
  std::vector<float> x(777), y(777), right(777);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 31) - 15;
    y[i] = static_cast<float>(i % 7);
    right[i] = 2.5F * x[i] + y[i];
  }
  const auto save = [&](const char* name, const std::vector<float>& values) {
    test::write_text(place.folder() / name,
                     npy_text("<f4", {777}, std::as_bytes(std::span(values))));
  };
  save("x.npy", x);
  save("y.npy", y);
  save("right.npy", right);
  const test::Replacements in_files = {
      {"sizes: [{n: 5000}, {n: 1}, {n: 777}]", "sizes: {n: 777}\n  tolerance: {relative: 1e-6}"},
      {"{name: x, type: f32, shape: [n]}", "{name: x, type: f32, shape: [n], fill: {file: x.npy}}"},
      {"role: inout}", "role: inout, fill: {file: y.npy}}"},
      {"  reference:\n    source: plain.cu\n    kernel: plain\n"
       "    launch: {grid: [\"ceil_div(problem.n, 256)\"], block: [256]}\n",
       "  expected: {y: right.npy}\n"}};
  CHECK(place.gate(in_files).passed());
  const Verdict verdict = place.gate(in_files, "mission");
  CHECK(verdict.cases == 1);

  right[700] += 1;
  save("right.npy", right);
  CHECK(place.gate(in_files).finding == Finding::kWrong);
  // A file is the one that the space was read with, or none.
  const SpaceFile before = place.file(in_files);
  right[700] -= 1;
  save("right.npy", right);
  const TuningTask task = test::opened(before);
  CHECK(test::has(
      test::message_of<UserError>([&] {
        test::Bench(task, "emulator:l4").gate(task.templates[0], task.space.at(0), "quick");
      }),
      "is not the file any more"));
  const auto says = [&](const std::string& from, const std::string& to, const char* words) {
    test::Replacements changes = in_files;
    changes[3].second = test::replace(changes[3].second, {{from, to}});
    const std::string said = test::message_of<UserError>([&] { place.gate(changes); });
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says("right.npy", "none.npy", "there is no file");
  says("right.npy", "../right.npy", "lies outside");
  says("{y: right", "{x: right", "'x' is no result");
  test::write_text(place.folder() / "right.npy", "\x93NUMPY");
  says("right", "./right", "is no .npy file");
}

}  // namespace fa_tune::test
