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

using Summed = HostAttention::Sum;
constexpr auto kDone = std::nullopt;

struct Planted {
  std::string name;
  std::vector<std::string> findings;  // any of these names it rightly
  PlantedKernel kernel;
};

// A kernel that is right but for what `spoil` does after (or before) it.
PlantedKernel spoiled_by(const std::function<void(const AttentionCall&)>& spoil) {
  return [spoil](const AttentionCall& call) {
    call.attend({});
    spoil(call);
    return kDone;
  };
}

PlantedKernel wrong(const HostAttention& kernel) {
  return [kernel](const AttentionCall& call) {
    call.attend(kernel);
    return kDone;
  };
}

const std::vector<std::string> kOff = {Finding::kWrong};
const std::vector<std::string> kOffOrImprecise = {Finding::kWrong, Finding::kImprecise};
const std::vector<std::string> kOffOrInfinite = {Finding::kWrong, Finding::kNotFinite};

const std::uint16_t kNan16 = 0x7e00;

std::vector<Planted> arithmetic_faults() {
  return {
      {"scores in fp16, every product", kOffOrImprecise, wrong({.scores = Summed::f16})},
      {"scores in fp16, every 16 products", kOffOrImprecise, wrong({.scores = Summed::f16_by_16})},
      {"output in fp16, every product", kOffOrImprecise, wrong({.output = Summed::f16})},
      {"output in fp16, every 16 products", kOffOrImprecise, wrong({.output = Summed::f16_by_16})},
      {"scale 1% too large", kOffOrImprecise, wrong({.scale_factor = 1.01F})},
      {"scale 1% too small", kOffOrImprecise, wrong({.scale_factor = 0.99F})},
      {"scale forgotten", kOffOrInfinite, wrong({.scale_factor = 4})},
      {"output not rescaled, tile 64", kOffOrImprecise, wrong({.rescale = false})},
      {"output not rescaled, tile 128", kOff, wrong({.tile = 128, .rescale = false})},
      {"sum not rescaled, tile 128", kOff, wrong({.tile = 128, .rescale_sum = false})},
      {"no maximum subtracted", kOffOrInfinite, wrong({.no_max = true})},
      {"mask one key too wide", kOff, wrong({.mask_shift = 1})},
      {"mask one key too narrow", kOffOrInfinite, wrong({.mask_shift = -1})},
      {"last tile skipped, tile 32", kOff, wrong({.tile = 32, .drop_last_tile = true})},
      {"last tile skipped, tile 128", kOff, wrong({.tile = 128, .drop_last_tile = true})},
      {"first tile skipped", kOff, wrong({.tile = 64, .drop_first_tile = true})},
      {"first tile added twice", kOff, wrong({.tile = 128, .tile_twice = true})},
      {"V transposed", kOff, wrong({.transposed_v = true})},
      {"K and V of another head", kOff, wrong({.head_of_neighbour = true})},
  };
}

std::vector<Planted> memory_faults() {
  return {
      {"zero output", kOff, spoiled_by([](const AttentionCall& call) {
         std::fill_n(call.O, call.query_elements(), std::uint16_t{0});
       })},
      {"Q copied", kOff, spoiled_by([](const AttentionCall& call) {
         std::copy_n(call.Q, call.query_elements(), call.O);
       })},
      {"V copied", kOff, spoiled_by([](const AttentionCall& call) {
         std::copy_n(call.V, std::min(call.key_elements(), call.query_elements()), call.O);
       })},
      {"nothing written", {Finding::kNotFinite}, [](const AttentionCall&) { return kDone; }},
      {"last row not written", {Finding::kNotFinite}, spoiled_by([](const AttentionCall& call) {
         std::fill_n(call.O + call.query_elements() - call.shape.D, call.shape.D,
                     std::uint16_t{0xffff});
       })},
      {"one element NaN", {Finding::kNotFinite}, spoiled_by([](const AttentionCall& call) {
         call.O[call.query_elements() / 2] = kNan16;
       })},
      {"one element infinite", {Finding::kNotFinite}, spoiled_by([](const AttentionCall& call) {
         call.O[0] = 0x7c00;
       })},
      {"two rows exchanged", kOff, spoiled_by([](const AttentionCall& call) {
         const auto rows = static_cast<std::int64_t>(call.query_elements()) / call.shape.D;
         if (rows > 1) std::swap_ranges(call.O, call.O + call.shape.D, call.O + call.shape.D);
       })},
      {"one element at four hundredths of the signal", kOff,
       spoiled_by([](const AttentionCall& call) {
         std::uint16_t& element = call.O[call.query_elements() - 1];
         element = to_f16(static_cast<double>(from_f16(element)) * 1.04 + 0.004);
       })},
      {"one element written past the end",
       {Finding::kGuardDamaged},
       spoiled_by([](const AttentionCall& call) { call.O[call.query_elements()] = 0; })},
      {"written 4094 bytes past the end",
       {Finding::kGuardDamaged},
       spoiled_by([](const AttentionCall& call) { call.O[call.query_elements() + 2047] = 0; })},
      {"written before the start",
       {Finding::kGuardDamaged},
       spoiled_by([](const AttentionCall& call) { call.O[-1] = 0; })},
      {"written past the end of V",
       {Finding::kGuardDamaged},
       spoiled_by([](const AttentionCall& call) { call.V[call.key_elements()] = 0; })},
      {"Q scaled in place", {Finding::kInputChanged}, spoiled_by([](const AttentionCall& call) {
         for (std::size_t i = 0; i < call.query_elements(); ++i)
           call.Q[i] = to_f16(static_cast<double>(from_f16(call.Q[i])) / 2);
       })},
      {"one bit of K", {Finding::kInputChanged}, spoiled_by([](const AttentionCall& call) {
         call.K[call.key_elements() - 1] ^= 1;
       })},
      {"reads past the end of K",
       {Finding::kNotFinite},
       [](const AttentionCall& call) {
         call.attend({});
         call.O[0] = to_f16(static_cast<double>(from_f16(call.O[0])) +
                            0 * static_cast<double>(from_f16(call.K[call.key_elements()])));
         return kDone;
       }},
  };
}

std::vector<Planted> run_faults() {
  const auto stops = [](FaultKind kind) {
    return [kind](const AttentionCall&) { return std::optional(Fault{kind, "planted"}); };
  };
  return {
      {"another last bit every other launch",
       {Finding::kNotDeterministic},
       spoiled_by([](const AttentionCall& call) {
         if (call.number % 2 == 0) call.O[0] ^= std::uint16_t{1};
       })},
      {"right at first, stale afterwards",
       {Finding::kNotDeterministic, Finding::kNotFinite},
       [](const AttentionCall& call) {
         if (call.number == 1) call.attend({});
         return kDone;
       }},
      {"guard damaged by the second launch only",
       {Finding::kGuardDamaged},
       spoiled_by([](const AttentionCall& call) {
         if (call.number % 2 == 0) call.O[-2] = 0;
       })},
      {"out of bounds", {Finding::kFault}, stops(FaultKind::out_of_bounds)},
      {"deadlock", {Finding::kFault}, stops(FaultKind::deadlock)},
      {"device lost", {Finding::kFault}, stops(FaultKind::device_lost)},
      {"more shared memory than there is", {Finding::kNotBound}, stops(FaultKind::resources)},
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

const AttentionShape kFull{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32};
const AttentionShape kCausal{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 64, .causal = true};
const AttentionShape kBottomRight{.B = 1,
                                  .H = 8,
                                  .Lq = 512,
                                  .Lk = 512,
                                  .D = 32,
                                  .causal = true,
                                  .alignment = CausalAlignment::bottom_right};

}  // namespace

TEST_CASE("planted faults of arithmetic fail") {
  expect_all_fail(kFull, arithmetic_faults());
  expect_all_fail(kCausal, arithmetic_faults());
  expect_all_fail(kBottomRight, arithmetic_faults());
}

TEST_CASE("planted faults of masks fail") {
  std::vector<Planted> faults = {
      {"mask ignored", kOff, wrong({.ignore_causal = true})},
      {"diagonal from the other corner", kOffOrInfinite, wrong({.other_alignment = true})},
  };
  expect_all_fail(kCausal, faults);
  faults.push_back({"NaN where a row sees nothing",
                    {Finding::kNotFinite},
                    wrong({.nan_where_nothing_is_seen = true})});
  expect_all_fail(kBottomRight, faults);
  expect_all_fail(kFull,
                  {{"keys past the end count as 0", kOff, wrong({.zero_scores_past_end = true})}});
}

TEST_CASE("planted faults of grouped heads and layouts fail") {
  AttentionShape grouped{.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .Hkv = 2};
  const std::vector<Planted> faults = {
      {"head h reads h % Hkv", kOff, wrong({.kv_head_by_remainder = true})},
      {"K and V of another head", kOff, wrong({.head_of_neighbour = true})},
      {"the other layout's strides", kOff, wrong({.other_layout = true})}};
  expect_all_fail(grouped, faults);
  grouped.layout = Layout::BSHD;
  expect_all_fail(grouped, faults);
}

TEST_CASE("planted faults of windows fail") {
  AttentionShape window{
      .B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 32, .window_left = 128, .window_right = 128};
  const std::vector<Planted> left = {
      {"left end one key early", kOff, wrong({.window_shift = 1})},
      {"left end one key late", kOffOrInfinite, wrong({.window_shift = -1})},
      {"window ignored", kOff, wrong({.ignore_window = true})},
      {"around the other diagonal", kOffOrInfinite, wrong({.other_alignment = true})},
      {"first tile skipped, tile 16", kOff, wrong({.tile = 16, .drop_first_tile = true})}};
  std::vector<Planted> both = left;
  both.push_back({"right end one key late", kOff, wrong({.mask_shift = 1})});
  both.push_back({"right end one key early", kOffOrInfinite, wrong({.mask_shift = -1})});
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
      {"cap before the scale", kOff, wrong({.cap_before_scale = true})},
      {"no cap", kOffOrImprecise, wrong({.ignore_cap = true})},
      {"bias of the other sign", kOff, wrong({.alibi_towards_far = true})},
      {"bias from the other corner", kOffOrImprecise, wrong({.alibi_from_top_left = true})},
      {"slope of another head", kOff, wrong({.slope_of_neighbour = true})}};
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
      {"LSE in powers of two", kOff, wrong({.lse_in_log2 = true})},
      {"LSE without the maximum", kOff, wrong({.lse_of_sum_alone = true})},
      {"LSE as [B,Lq,H]", {Finding::kWrong, Finding::kNotFinite}, wrong({.lse_by_position = true})},
      {"LSE 0 where a row sees nothing", kOff, wrong({.lse_zero_where_nothing_is_seen = true})},
      {"LSE of P rounded to bf16", kOff, wrong({.sum_of_rounded_p = true})},
      {"LSE not written", {Finding::kNotFinite}, spoiled_by([](const AttentionCall& call) {
         std::fill_n(call.LSE, call.shape.B * call.shape.H * call.shape.Lq,
                     std::numeric_limits<float>::quiet_NaN());
       })},
      {"LSE NaN where a row sees nothing",
       {Finding::kNotFinite},
       spoiled_by([](const AttentionCall& call) {
         for (std::int64_t row = 0; row < call.shape.B * call.shape.H * call.shape.Lq; ++row)
           if (std::isinf(call.LSE[row])) call.LSE[row] = std::numeric_limits<float>::quiet_NaN();
       })}};
  expect_all_fail(lse, faults);
}

TEST_CASE("planted faults of memory fail") {
  expect_all_fail(kFull, memory_faults());
  expect_all_fail(kCausal, memory_faults());
}

TEST_CASE("planted faults of a run fail; a lost device is passed on") {
  expect_all_fail(kFull, run_faults());
  AttentionGate gate(kFull);
  const auto lost = gate.check(
      [](const AttentionCall&) {
        return std::optional(Fault{FaultKind::device_lost, "gone"});
      },
      gate.cases("quick"));
  CHECK(lost.finding == Finding::kFault);
  CHECK(lost.message == "device_lost: gone");
}

}  // namespace fa_tune::test
