#include <algorithm>
#include <limits>

#include <doctest/doctest.h>

#include "engine/problem/attention/shape.hpp"
#include "tests/engine/gate/attention_gate.hpp"
#include "tests/engine/gate/four_numbers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

namespace {

// Two heads of 256 rows; a cap that makes the truth one of every 64 rows.
const AttentionShape kSampledShape{.B = 1, .H = 2, .Lq = 256, .Lk = 256, .D = 16};
constexpr double kCap = 0x1p19;

// What is done to O after a correct kernel; `row` as rows lie in memory.
using Spoil = std::function<void(const AttentionCall&)>;

PlantedKernel spoiled(const Spoil& spoil) {
  return [spoil](const AttentionCall& call) -> std::optional<Fault> {
    call.attend({});
    if (call.shape.Lq == kSampledShape.Lq) spoil(call);
    return std::nullopt;
  };
}

void fill_row(const AttentionCall& call, std::size_t row, std::uint16_t bits) {
  const auto D = static_cast<std::size_t>(call.shape.D);
  std::fill_n(call.O + row * D, D, bits);
}

// Of the first head, those whose truth a case knows.
std::vector<std::uint32_t> rows_of(const GateCase& each,
                                   const AttentionShape& shape = kSampledShape) {
  const RowSample rows = RowSample::drawn(shape, each.seed, kCap);
  const auto sampled = rows.of_head(0);
  return {sampled.begin(), sampled.end()};
}

// A row of the first head that this case does not know, next to the middle.
std::uint32_t unsampled(const GateCase& each) {
  const auto known = rows_of(each);
  std::uint32_t row = 100;
  while (std::ranges::find(known, row) != known.end()) ++row;
  return row;
}

constexpr std::uint16_t kZero = 0, kHundred = 0x5640, kNotNumberBits = 0x7e00;

}  // namespace

TEST_CASE("sampled truth: correct kernels pass, with every mask and layout") {
  std::vector<AttentionShape> shapes(5, kSampledShape);
  shapes[1].causal = true;
  shapes[2].Lk = 100;
  shapes[2].causal = true;
  shapes[2].alignment = CausalAlignment::bottom_right;
  shapes[2].lse = true;
  shapes[3].layout = Layout::BSHD;
  shapes[3].Hkv = 1;
  shapes[3].window_left = 30;
  shapes[4].dtype = DType::bf16;
  shapes[4].lse = true;
  shapes[4].alibi = true;
  for (const AttentionShape& shape : shapes) {
    AttentionGate gate(shape, kCap);
    CHECK(gate.problem().coverage(gate.problem().shape(), Truth::usual).every > 1);
    for (const auto& kernel :
         {HostAttention{}, HostAttention{.p = HostAttention::P::stale_max, .tile = 32},
          HostAttention{.tile = 16, .backwards = true}}) {
      const Verdict verdict = gate.check(kernel, gate.cases("mission"));
      INFO(verdict.message << " " << verdict.where);
      CHECK(verdict.passed());
    }
  }
}

TEST_CASE("sampled truth: a wrong row that is sampled, and a wrong tile, are always met") {
  AttentionGate gate(kSampledShape, kCap);
  for (const GateCase& each : gate.cases("mission")) {
    for (const std::uint32_t row : rows_of(each)) {
      const Verdict verdict = gate.check(
          spoiled([row](const AttentionCall& call) { fill_row(call, row, kZero); }), {each});
      CHECK(verdict.finding == Finding::kWrong);
      CHECK(verdict.message.find(" sampled elements are off") != std::string::npos);
    }
    for (std::size_t tile = 0; tile < 8; ++tile) {
      const Verdict verdict = gate.check(spoiled([tile](const AttentionCall& call) {
                                           for (std::size_t row = 0; row < 64; ++row)
                                             fill_row(call, tile * 64 + row, kZero);
                                         }),
                                         {each});
      CHECK(verdict.finding == Finding::kWrong);
    }
  }
}

TEST_CASE("sampled truth: everywhere else there are NaN, infinity, and what no V holds to be met") {
  AttentionGate gate(kSampledShape, kCap);
  for (const GateCase& each : gate.cases("mission")) {
    const std::uint32_t row = unsampled(each);
    const auto verdict_of = [&](const Spoil& spoil) { return gate.check(spoiled(spoil), {each}); };
    const auto element_of = [row](const AttentionCall& call, std::uint16_t bits) {
      call.O[row * 16 + 3] = bits;
    };
    const Verdict not_number =
        verdict_of([&](const auto& call) { element_of(call, kNotNumberBits); });
    CHECK(not_number.finding == Finding::kNotFinite);
    CHECK(not_number.message.starts_with("O[0,0," + std::to_string(row) + ",3] = nan; 1 of 8192 "));
    const Verdict unwritten = verdict_of([&](const auto& call) { fill_row(call, row, 0xffff); });
    CHECK(unwritten.finding == Finding::kNotFinite);
    CHECK(unwritten.message.ends_with(
        "16 of 8192 elements are not finite, 16 of them never written"));
    CHECK(verdict_of([&](const auto& call) { element_of(call, 0x7c00); }).finding ==
          Finding::kNotFinite);
    const Verdict outside = verdict_of([&](const auto& call) { element_of(call, kHundred); });
    CHECK(outside.finding == Finding::kWrong);
    CHECK(outside.message.find("which no correct kernel gives") != std::string::npos);
    // The same in the last row of all, and below.
    CHECK(verdict_of([&](const auto& call) {
            call.O[511 * 16 + 15] = kHundred | 0x8000;
          }).finding == Finding::kWrong);
  }
}

TEST_CASE("sampled truth: a row that sees nothing is 0 and its LSE -inf, sampled or not") {
  AttentionShape shape = kSampledShape;
  shape.Lk = 100;
  shape.causal = true;
  shape.alignment = CausalAlignment::bottom_right;
  shape.lse = true;
  AttentionGate gate(shape, kCap);
  const GateCase each = gate.cases("mission")[0];
  std::uint32_t row = 40;  // the first 156 see nothing
  const auto known = rows_of(each, shape);
  while (std::ranges::find(known, row) != known.end()) ++row;
  const auto finding_of = [&](const Spoil& spoil) {
    return gate.check(spoiled(spoil), {each}).finding;
  };
  CHECK(finding_of([](const auto&) {}) == Finding::kPassed);
  CHECK(finding_of([&](const auto& call) { call.O[row * 16] = 0x8000; }) ==
        Finding::kPassed);  // -0
  CHECK(finding_of([&](const auto& call) { call.O[row * 16] = 1; }) == Finding::kWrong);
  CHECK(finding_of([&](const auto& call) { call.LSE[row] = 0; }) == Finding::kWrong);
  CHECK(finding_of([&](const auto& call) {
          call.LSE[row] = std::numeric_limits<float>::quiet_NaN();
        }) == Finding::kNotFinite);
  // Of one that sees something: never -inf, and no larger than its scores can make it.
  CHECK(finding_of([](const auto& call) {
          call.LSE[200] = -std::numeric_limits<float>::infinity();
        }) == Finding::kNotFinite);
  CHECK(finding_of([](const auto& call) { call.LSE[200] = 1e4F; }) == Finding::kWrong);
}

TEST_CASE("sampled truth: another case knows other rows, and errors of the whole still show") {
  AttentionGate gate(kSampledShape, 0x1p23);  // one of every four
  const auto cases = gate.cases("mission");
  int met = 0, tried = 0;
  for (std::uint32_t row = 5; row < 250; row += 17)
    for (const GateCase& each : cases) {
      if (each.inputs == Inputs::small) continue;
      ++tried;
      met += gate.check(spoiled([row](const AttentionCall& call) { fill_row(call, row, kZero); }),
                        {each})
                     .passed()
                 ? 0
                 : 1;
    }
  CHECK(met > tried / 6);
  CHECK(met < tried / 3);
  // Sums in 16 bits: no element is off by much.
  CHECK_FALSE(gate.check(HostAttention{.output = HostAttention::Sum::f16}, cases).passed());
  CHECK_FALSE(gate.check(HostAttention{.scores = HostAttention::Sum::f16}, cases).passed());
}

TEST_CASE("sampled truth: two runs must agree in every byte") {
  AttentionGate gate(kSampledShape, kCap);
  const GateCase each = gate.cases("mission")[0];
  const std::uint32_t row = unsampled(each);
  const Verdict verdict = gate.check(spoiled([row](const AttentionCall& call) {
                                       if (call.number == 2) call.O[row * 16] ^= 1;
                                     }),
                                     {each});
  CHECK(verdict.finding == Finding::kNotDeterministic);
}

namespace {

// Four numbers of which the truth is of the first two, with what limits a test gives.
class HalfKnown final : public test::FourNumbers {
 public:
  ValueBounds limits{.row_elements = 2, .range_of_row = {0, 0}, .least = {0, 0}, .most = {2, 2}};
  std::vector<std::uint32_t> rows = {0};

  std::string kind() const override { return "half known"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    return {.shape = shape,
            .inputs = inputs,
            .seed = seed,
            .tensors =
                {{.name = "y", .type = DType::f32, .role = Role::output, .dims = {4}, .bytes = {}}},
            .scalars = {}};
  }
  std::vector<Expectation> expect(const Instance&, Truth) const override {
    return {{.tensor = "y",
             .exact = {1, 1},
             .bound = {0.1, 0.1},
             .rms_bound = 0.1,
             .rows = rows,
             .limits = limits}};
  }
};

}  // namespace

TEST_CASE("sampled truth: limits with a hole are a mistake, not a verdict") {
  const auto sound = [](const HalfKnown& problem) {
    TruthCache cache(problem);
    try {
      cache.get({.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1});
      return true;
    } catch (const std::logic_error&) {
      return false;
    }
  };
  HalfKnown problem;
  CHECK(sound(problem));
  problem.limits.range_of_row = {0};
  CHECK_FALSE(sound(problem));
  problem.limits.range_of_row = {0, 1};
  CHECK_FALSE(sound(problem));
  problem.limits.range_of_row = {0, 0};
  problem.limits.most = {2, std::numeric_limits<float>::quiet_NaN()};
  CHECK_FALSE(sound(problem));
  problem.limits.most = {2, 2};
  problem.rows = {2};
  CHECK_FALSE(sound(problem));
}

}  // namespace fa_tune::test
