#include <span>

#include <doctest/doctest.h>

#include "tests/engine/gate/attention_gate.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::problem;

// Every right way of computing attention must pass, and not by a hair: the largest error of each
// stays under 0.7 of its bound.

namespace {

using P = HostAttention::P;

const std::vector<std::pair<std::string, HostAttention>> kRightKernels = {
    {"naive: one tile, P normalized", {.p = P::normalized, .tile = 1 << 20, .exp2 = false}},
    {"P not rounded", {.p = P::exact, .tile = 1 << 20, .exp2 = false}},
    {"flash, tile 16", {.tile = 16}},
    {"flash, tile 48", {.tile = 48}},
    {"flash, tile 64, e^x", {.tile = 64, .exp2 = false}},
    {"flash, tile 128", {.tile = 128}},
    {"flash, tile 32, last tile first", {.tile = 32, .backwards = true}},
    {"flash, tile 32, lazy rescale", {.p = P::stale_max, .tile = 32}},
    {"flash, tile 64, sum of rounded P", {.tile = 64, .sum_of_rounded_p = true}},
};

// The first `count` of them.
void expect_all_right(const AttentionShape& timed, const std::vector<std::string>& suites,
                      std::size_t count = kRightKernels.size()) {
  AttentionGate gate(timed);
  std::size_t passed = 0;
  for (const auto& [name, kernel] : std::span(kRightKernels).first(count)) {
    for (const std::string& suite : suites) {
      const Verdict verdict = gate.check(kernel, gate.cases(suite));
      INFO(name << ", suite " << suite << ": " << verdict.finding << " " << verdict.message
                << " at " << verdict.where);
      CHECK(verdict.passed());
      CHECK(verdict.worst_ratio < 0.7);
      CHECK(verdict.worst_ratio > 0.05);
      passed += verdict.passed() ? 1 : 0;
    }
  }
  MESSAGE("correct kernels accepted: " << passed << " of " << count * suites.size());
}

}  // namespace

TEST_CASE("correct kernels pass: every tiling, quick and ragged shapes") {
  expect_all_right({.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32}, {"quick", "ragged"});
}

TEST_CASE("correct kernels pass: causal, D=64") {
  expect_all_right({.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 64, .causal = true}, {"quick"});
}

TEST_CASE("correct kernels pass: causal from the bottom right, rows that see nothing are 0") {
  expect_all_right({.B = 1,
                    .H = 8,
                    .Lq = 512,
                    .Lk = 512,
                    .D = 16,
                    .causal = true,
                    .alignment = CausalAlignment::bottom_right},
                   {"quick", "ragged"});
}

TEST_CASE("correct kernels pass: bf16") {
  expect_all_right({.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .dtype = DType::bf16},
                   {"quick"});
}

TEST_CASE("correct kernels pass: every feature alone") {
  const AttentionShape plain{.B = 1, .H = 6, .Lq = 512, .Lk = 512, .D = 32};
  std::vector<AttentionShape> shapes(6, plain);
  shapes[0].Hkv = 3;
  shapes[0].layout = Layout::BSHD;
  shapes[1].window_left = 100;
  shapes[1].alignment = CausalAlignment::bottom_right;
  shapes[2].window_right = 100;
  shapes[3].softcap = 20;
  shapes[4].alibi = true;
  shapes[5].lse = true;
  // The sum of rounded P is right for O, not for an LSE: the last of the kernels.
  for (const AttentionShape& shape : shapes)
    expect_all_right(shape, {"quick"}, shape.lse ? kRightKernels.size() - 1 : kRightKernels.size());
}

TEST_CASE("correct kernels pass: all features together") {
  const AttentionShape shape{.B = 1,
                             .H = 4,
                             .Lq = 512,
                             .Lk = 512,
                             .D = 64,
                             .causal = true,
                             .alignment = CausalAlignment::bottom_right,
                             .dtype = DType::bf16,
                             .Hkv = 2,
                             .layout = Layout::BSHD,
                             .lse = true,
                             .window_left = 100,
                             .softcap = 20,
                             .alibi = true};
  expect_all_right(shape, {"quick"}, kRightKernels.size() - 1);
}

TEST_CASE("correct kernels pass: weights so equal that P normalized lies on a rounding boundary") {
  const AttentionShape timed{.B = 1, .H = 2, .Lq = 32, .Lk = 32, .D = 32};
  AttentionGate gate(timed);
  std::vector<GateCase> cases;
  for (const std::int64_t keys : {109, 119, 125, 218, 235, 238, 250}) {
    AttentionShape shape = timed;
    shape.Lk = keys;
    cases.push_back({.shape = shape.constants(), .inputs = Inputs::small, .seed = 1});
  }
  const Verdict verdict = gate.check(HostAttention{.p = P::normalized}, cases);
  INFO(verdict.message << " at " << verdict.where);
  CHECK(verdict.passed());
  CHECK(verdict.worst_ratio < 0.7);
}

}  // namespace fa_tune::test
