#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "engine/util/half.hpp"
#include "tests/engine/gate/attention_gate.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

// The proof of the gate: faults planted on purpose. Each must fail, with the expected finding.

namespace {

using Sum = HostAttention::Sum;
constexpr auto done = std::nullopt;

struct Planted {
  std::string name;
  std::vector<std::string> findings;  // any of these names it rightly
  PlantedKernel kernel;
};

// A kernel that is right but for what `spoil` does after (or before) it.
PlantedKernel spoiled(std::function<void(const AttentionCall&)> spoil) {
  return [spoil](const AttentionCall& call) {
    call.attend({});
    spoil(call);
    return done;
  };
}

PlantedKernel wrong(const HostAttention& kernel) {
  return [kernel](const AttentionCall& call) {
    call.attend(kernel);
    return done;
  };
}

const std::vector<std::string> off = {Finding::wrong};
const std::vector<std::string> off_or_imprecise = {Finding::wrong, Finding::imprecise};
const std::vector<std::string> off_or_infinite = {Finding::wrong, Finding::not_finite};

const std::uint16_t nan16 = 0x7e00;

std::vector<Planted> arithmetic_faults() {
  return {
      {"scores in fp16, every product", off_or_imprecise, wrong({.scores = Sum::f16})},
      {"scores in fp16, every 16 products", off_or_imprecise, wrong({.scores = Sum::f16_by_16})},
      {"output in fp16, every product", off_or_imprecise, wrong({.output = Sum::f16})},
      {"output in fp16, every 16 products", off_or_imprecise, wrong({.output = Sum::f16_by_16})},
      {"scale 1% too large", off_or_imprecise, wrong({.scale_factor = 1.01F})},
      {"scale 1% too small", off_or_imprecise, wrong({.scale_factor = 0.99F})},
      {"scale forgotten", off_or_infinite, wrong({.scale_factor = 4})},
      {"output not rescaled, tile 64", off_or_imprecise, wrong({.rescale = false})},
      {"output not rescaled, tile 128", off, wrong({.tile = 128, .rescale = false})},
      {"sum not rescaled, tile 128", off, wrong({.tile = 128, .rescale_sum = false})},
      {"no maximum subtracted", off_or_infinite, wrong({.no_max = true})},
      {"mask one key too wide", off, wrong({.mask_shift = 1})},
      {"mask one key too narrow", off_or_infinite, wrong({.mask_shift = -1})},
      {"last tile skipped, tile 32", off, wrong({.tile = 32, .drop_last_tile = true})},
      {"last tile skipped, tile 128", off, wrong({.tile = 128, .drop_last_tile = true})},
      {"first tile skipped", off, wrong({.tile = 64, .drop_first_tile = true})},
      {"first tile added twice", off, wrong({.tile = 128, .tile_twice = true})},
      {"V transposed", off, wrong({.transposed_v = true})},
      {"K and V of another head", off, wrong({.head_of_neighbour = true})},
  };
}

std::vector<Planted> memory_faults() {
  return {
      {"zero output", off, spoiled([](const AttentionCall& call) {
         std::fill_n(call.O, call.query_elements(), std::uint16_t{0});
       })},
      {"Q copied", off, spoiled([](const AttentionCall& call) {
         std::copy_n(call.Q, call.query_elements(), call.O);
       })},
      {"V copied", off, spoiled([](const AttentionCall& call) {
         std::copy_n(call.V, std::min(call.key_elements(), call.query_elements()), call.O);
       })},
      {"nothing written", {Finding::not_finite}, [](const AttentionCall&) { return done; }},
      {"last row not written", {Finding::not_finite}, spoiled([](const AttentionCall& call) {
         std::fill_n(call.O + call.query_elements() - call.shape.D, call.shape.D,
                     std::uint16_t{0xffff});
       })},
      {"one element NaN", {Finding::not_finite}, spoiled([](const AttentionCall& call) {
         call.O[call.query_elements() / 2] = nan16;
       })},
      {"one element infinite", {Finding::not_finite}, spoiled([](const AttentionCall& call) {
         call.O[0] = 0x7c00;
       })},
      {"two rows exchanged", off, spoiled([](const AttentionCall& call) {
         const auto rows = static_cast<std::int64_t>(call.query_elements()) / call.shape.D;
         if (rows > 1) std::swap_ranges(call.O, call.O + call.shape.D, call.O + call.shape.D);
       })},
      {"one element at four hundredths of the signal", off, spoiled([](const AttentionCall& call) {
         std::uint16_t& element = call.O[call.query_elements() - 1];
         element = to_f16(static_cast<double>(from_f16(element)) * 1.04 + 0.004);
       })},
      {"one element written past the end",
       {Finding::guard_damaged},
       spoiled([](const AttentionCall& call) { call.O[call.query_elements()] = 0; })},
      {"written 4094 bytes past the end",
       {Finding::guard_damaged},
       spoiled([](const AttentionCall& call) { call.O[call.query_elements() + 2047] = 0; })},
      {"written before the start", {Finding::guard_damaged}, spoiled([](const AttentionCall& call) {
         call.O[-1] = 0;
       })},
      {"written past the end of V",
       {Finding::guard_damaged},
       spoiled([](const AttentionCall& call) { call.V[call.key_elements()] = 0; })},
      {"Q scaled in place", {Finding::input_changed}, spoiled([](const AttentionCall& call) {
         for (std::size_t i = 0; i < call.query_elements(); ++i)
           call.Q[i] = to_f16(static_cast<double>(from_f16(call.Q[i])) / 2);
       })},
      {"one bit of K", {Finding::input_changed}, spoiled([](const AttentionCall& call) {
         call.K[call.key_elements() - 1] ^= 1;
       })},
      {"reads past the end of K",
       {Finding::not_finite},
       [](const AttentionCall& call) {
         call.attend({});
         call.O[0] = to_f16(static_cast<double>(from_f16(call.O[0])) +
                            0 * static_cast<double>(from_f16(call.K[call.key_elements()])));
         return done;
       }},
  };
}

std::vector<Planted> run_faults() {
  const auto stops = [](FaultKind kind) {
    return [kind](const AttentionCall&) { return std::optional(Fault{kind, "planted"}); };
  };
  return {
      {"another last bit every other launch",
       {Finding::not_deterministic},
       spoiled([](const AttentionCall& call) {
         if (call.number % 2 == 0) call.O[0] ^= std::uint16_t{1};
       })},
      {"right at first, stale afterwards",
       {Finding::not_deterministic, Finding::not_finite},
       [](const AttentionCall& call) {
         if (call.number == 1) call.attend({});
         return done;
       }},
      {"guard damaged by the second launch only",
       {Finding::guard_damaged},
       spoiled([](const AttentionCall& call) {
         if (call.number % 2 == 0) call.O[-2] = 0;
       })},
      {"out of bounds", {Finding::fault}, stops(FaultKind::out_of_bounds)},
      {"deadlock", {Finding::fault}, stops(FaultKind::deadlock)},
      {"device lost", {Finding::fault}, stops(FaultKind::device_lost)},
      {"more shared memory than there is", {Finding::not_bound}, stops(FaultKind::resources)},
  };
}

void expect_all_fail(const AttentionShape& timed, const std::vector<Planted>& faults) {
  AttentionGate gate(timed);
  std::size_t killed = 0;
  for (const Planted& planted : faults) {
    const Verdict verdict = gate.check(planted.kernel, gate.cases("quick"));
    INFO(planted.name << ": " << verdict.finding << " " << verdict.message << " at "
                      << verdict.where);
    const bool named =
        std::count(planted.findings.begin(), planted.findings.end(), verdict.finding) == 1;
    CHECK(named);
    CHECK_FALSE(verdict.message.empty());
    CHECK_FALSE(verdict.where.empty());
    CHECK(verdict.message.find('\n') == std::string::npos);
    CHECK(gate.leaked() == 0);
    killed += verdict.passed() ? 0 : 1;
  }
  MESSAGE("planted faults killed: " << killed << " of " << faults.size());
  CHECK(killed == faults.size());
}

const AttentionShape full{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32};
const AttentionShape causal{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 64, .causal = true};
const AttentionShape bottom_right{.B = 1,
                                  .H = 8,
                                  .Lq = 512,
                                  .Lk = 512,
                                  .D = 32,
                                  .causal = true,
                                  .alignment = CausalAlignment::bottom_right};

}  // namespace

TEST_CASE("planted faults of arithmetic fail") {
  expect_all_fail(full, arithmetic_faults());
  expect_all_fail(causal, arithmetic_faults());
  expect_all_fail(bottom_right, arithmetic_faults());
}

TEST_CASE("planted faults of masks fail") {
  std::vector<Planted> faults = {
      {"mask ignored", off, wrong({.ignore_causal = true})},
      {"diagonal from the other corner", off_or_infinite, wrong({.other_alignment = true})},
  };
  expect_all_fail(causal, faults);
  faults.push_back({"NaN where a row sees nothing",
                    {Finding::not_finite},
                    wrong({.nan_where_nothing_is_seen = true})});
  expect_all_fail(bottom_right, faults);
  expect_all_fail(full,
                  {{"keys past the end count as 0", off, wrong({.zero_scores_past_end = true})}});
}

TEST_CASE("planted faults of grouped heads and layouts fail") {
  AttentionShape grouped{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .Hkv = 2};
  const std::vector<Planted> faults = {
      {"head h reads h % Hkv", off, wrong({.kv_head_by_remainder = true})},
      {"K and V of another head", off, wrong({.head_of_neighbour = true})},
      {"the other layout's strides", off, wrong({.other_layout = true})}};
  expect_all_fail(grouped, faults);
  grouped.layout = Layout::BSHD;
  expect_all_fail(grouped, faults);
}

TEST_CASE("planted faults of windows fail") {
  AttentionShape window{
      .B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .window_left = 128, .window_right = 128};
  const std::vector<Planted> left = {
      {"left end one key early", off, wrong({.window_shift = 1})},
      {"left end one key late", off_or_infinite, wrong({.window_shift = -1})},
      {"window ignored", off, wrong({.ignore_window = true})},
      {"around the other diagonal", off_or_infinite, wrong({.other_alignment = true})},
      {"first tile skipped, tile 16", off, wrong({.tile = 16, .drop_first_tile = true})}};
  std::vector<Planted> both = left;
  both.push_back({"right end one key late", off, wrong({.mask_shift = 1})});
  both.push_back({"right end one key early", off_or_infinite, wrong({.mask_shift = -1})});
  expect_all_fail(window, both);
  window.window_right = -1;
  window.causal = true;
  expect_all_fail(window, left);
  window.alignment = CausalAlignment::bottom_right;
  expect_all_fail(window, left);
}

TEST_CASE("planted faults of caps, biases and LSE fail") {
  AttentionShape shape{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .softcap = 30, .alibi = true};
  const std::vector<Planted> scores = {
      {"cap before the scale", off, wrong({.cap_before_scale = true})},
      {"no cap", off_or_imprecise, wrong({.ignore_cap = true})},
      {"bias of the other sign", off, wrong({.alibi_towards_far = true})},
      {"bias from the other corner", off_or_imprecise, wrong({.alibi_from_top_left = true})},
      {"slope of another head", off, wrong({.slope_of_neighbour = true})}};
  expect_all_fail(shape, scores);
  shape.dtype = DType::bf16;
  expect_all_fail(shape, scores);

  AttentionShape lse{.B = 1,
                     .H = 8,
                     .Lq = 512,
                     .Lk = 512,
                     .D = 32,
                     .causal = true,
                     .alignment = CausalAlignment::bottom_right,
                     .dtype = DType::bf16,
                     .lse = true};
  const std::vector<Planted> faults = {
      {"LSE in powers of two", off, wrong({.lse_in_log2 = true})},
      {"LSE without the maximum", off, wrong({.lse_of_sum_alone = true})},
      {"LSE as [B,Lq,H]", {Finding::wrong, Finding::not_finite}, wrong({.lse_by_position = true})},
      {"LSE 0 where a row sees nothing", off, wrong({.lse_zero_where_nothing_is_seen = true})},
      {"LSE of P rounded to bf16", off, wrong({.sum_of_rounded_p = true})},
      {"LSE not written", {Finding::not_finite}, spoiled([](const AttentionCall& call) {
         std::fill_n(call.LSE, call.shape.B * call.shape.H * call.shape.Lq,
                     std::numeric_limits<float>::quiet_NaN());
       })},
      {"LSE NaN where a row sees nothing",
       {Finding::not_finite},
       spoiled([](const AttentionCall& call) {
         for (std::int64_t row = 0; row < call.shape.B * call.shape.H * call.shape.Lq; ++row)
           if (std::isinf(call.LSE[row])) call.LSE[row] = std::numeric_limits<float>::quiet_NaN();
       })}};
  expect_all_fail(lse, faults);
}

TEST_CASE("planted faults of memory fail") {
  expect_all_fail(full, memory_faults());
  expect_all_fail(causal, memory_faults());
}

TEST_CASE("planted faults of a run fail; a lost device is passed on") {
  expect_all_fail(full, run_faults());
  AttentionGate gate(full);
  const auto lost = gate.check(
      [](const AttentionCall&) {
        return std::optional(Fault{FaultKind::device_lost, "gone"});
      },
      gate.cases("quick"));
  CHECK(lost.finding == Finding::fault);
  CHECK(lost.message == "device_lost: gone");
}

}  // namespace fa_tune::test
