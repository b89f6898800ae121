#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "engine/gate/compare.hpp"
#include "engine/util/error.hpp"
#include "engine/util/parallel.hpp"
#include "tests/engine/gate/attention_gate.hpp"
#include "tests/engine/gate/four_numbers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

namespace {

// One output of four float32, all 1. Counts how often it is asked.
class OnesProblem final : public test::FourNumbers {
 public:
  double exact = 1;
  mutable std::atomic<int> made = 0;

  std::string kind() const override { return "ones"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    ++made;
    return {
        .shape = shape,
        .inputs = inputs,
        .seed = seed,
        .tensors =
            {{.name = "y", .type = DType::f32, .role = Role::output, .dims = {2, 2}, .bytes = {}}},
        .scalars = {}};
  }
  std::vector<Expectation> expect(const Instance&, Truth) const override {
    return {
        {.tensor = "y", .exact = {1, 1, 1, exact}, .bound = {0.1, 0.1, 0.1, 0}, .rms_bound = 0.02}};
  }
};

Comparison compare_ones(const std::vector<float>& values) {
  const OnesProblem problem;
  const Instance instance = problem.make(problem.shape(), Inputs::normal, 0);
  return compare(instance.tensors[0], std::as_bytes(std::span(values)),
                 problem.expect(instance, Truth::usual)[0]);
}

}  // namespace

TEST_CASE(
    "compare: an output of several pieces is looked at whole, and errors of all pieces count") {
  constexpr std::size_t kElements = 2 * kElementsOfPiece + 100;
  const Tensor output = {.name = "y",
                         .type = DType::f32,
                         .role = Role::output,
                         .dims = {static_cast<std::int64_t>(kElements)},
                         .bytes = {}};
  const Expectation expected = {.tensor = "y",
                                .exact = std::vector<double>(kElements, 1.0),
                                .bound = std::vector<double>(kElements, 0.1),
                                .rms_bound = 0.02};
  std::vector<float> values(kElements, 1.0F);
  const auto found = [&] { return compare(output, std::as_bytes(std::span(values)), expected); };
  CHECK(found().finding == Finding::kPassed);

  values[5] = 1.05F;
  values[kElementsOfPiece + 7] = 1.08F;
  CHECK(found().worst_ratio == doctest::Approx(0.8).epsilon(0.01));
  const double energy = 0.05 * 0.05 + 0.08 * 0.08;
  // A quotient: Approx is coarse beside 1.
  CHECK(found().rms / std::sqrt(energy / kElements) == doctest::Approx(1).epsilon(0.001));

  values[kElementsOfPiece + 7] = 1.5F;
  values[kElements - 1] = 1.25F;
  CHECK(found().finding == Finding::kWrong);
  CHECK(found().message ==
        "y[1048583] = 1.5, expected 1, allowed 0.1; 2 of 2097252 elements are off");

  values[kElements - 2] = std::numeric_limits<float>::quiet_NaN();
  values[kElementsOfPiece] = std::numeric_limits<float>::infinity();
  CHECK(found().finding == Finding::kNotFinite);
  CHECK(found().message.starts_with("y[1048576] = inf, expected 1; 2 of 2097252"));
}

TEST_CASE("a fault is the kernel's own, unless the kernel never ran") {
  const Rejection fault = rejection_of({FaultKind::misaligned, "address 3"});
  CHECK(fault.finding == "fault");
  CHECK(fault.message == "misaligned: address 3");
  for (const FaultKind kind :
       {FaultKind::load_failed, FaultKind::unknown_instruction, FaultKind::resources})
    CHECK(rejection_of({kind, ""}).finding == "not_bound");
}

TEST_CASE("compare: element, whole, not finite; the message says which element and how far") {
  CHECK(compare_ones({1, 1, 1, 1}).finding == Finding::kPassed);
  CHECK(compare_ones({1.005F, 1, 1, 1}).worst_ratio == doctest::Approx(0.05).epsilon(0.01));

  const Comparison off = compare_ones({1, 1.25F, 1, 1});
  CHECK(off.finding == Finding::kWrong);
  CHECK(off.message == "y[0,1] = 1.25, expected 1, allowed 0.1; 1 of 4 elements are off");

  // Each within its bound, but all of them near it.
  CHECK(compare_ones({1.09F, 1.09F, 1.09F, 1}).finding == Finding::kImprecise);
  // Where nothing is allowed, nothing may be off.
  CHECK(compare_ones({1, 1, 1, 1.0001F}).finding == Finding::kWrong);

  const Comparison nan = compare_ones({1, 1, std::nanf(""), 1});
  CHECK(nan.finding == Finding::kNotFinite);
  CHECK(nan.message ==
        "y[1,0] = nan, expected 1; 1 of 4 elements are not finite, 0 of them never written");
  CHECK(compare_ones({std::numeric_limits<float>::infinity(), 1, 1, 1}).finding ==
        Finding::kNotFinite);
}

TEST_CASE(
    "compare: where all of the truth is 0 and nothing is said of the whole, elements decide") {
  const Tensor output = {
      .name = "y", .type = DType::f32, .role = Role::output, .dims = {2}, .bytes = {}};
  const auto found = [&](std::vector<float> values, std::optional<double> whole) {
    return compare(output, std::as_bytes(std::span(values)),
                   {.tensor = "y", .exact = {0, 0}, .bound = {1e-6, 1e-6}, .rms_bound = whole});
  };
  CHECK(found({1e-9F, 0}, {}).finding == Finding::kPassed);
  CHECK(found({1e-9F, 0}, {}).rms == 0);
  CHECK(found({1e-5F, 0}, {}).finding == Finding::kWrong);
  CHECK(found({1e-9F, 0}, 0.1).finding == Finding::kImprecise);
}

TEST_CASE("gate_cases: every kind of input occurs, seeds differ, a seed names the cases") {
  const AttentionGate gate(kTinyShape);
  for (const char* suite : {"quick", "ragged", "mission", "seven", "ten"}) {
    const auto cases = gate.cases(suite, 5);
    std::set<Inputs> kinds;
    std::set<std::uint64_t> seeds;
    for (const GateCase& each : cases) {
      kinds.insert(each.inputs);
      seeds.insert(each.seed);
    }
    CHECK(kinds.size() == 6);
    CHECK(seeds.size() == cases.size());
    CHECK(gate.cases(suite, 5)[0].seed == cases[0].seed);
    CHECK(gate.cases(suite, 6)[0].seed != cases[0].seed);
  }
  CHECK(gate_cases({.shapes = {}}, 1).empty());
}

TEST_CASE("gate_cases: no size is kept from a kind of input for ever") {
  const auto sized = [](std::int64_t n) { return Constants{{"n", n}}; };
  for (std::size_t shapes = 2; shapes <= 7; ++shapes) {
    Suite suite;
    for (std::size_t i = 0; i < shapes; ++i)
      suite.shapes.push_back(sized(static_cast<std::int64_t>(i)));
    std::set<std::pair<std::string, Inputs>> met, at_once;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      std::set<Inputs> kinds;
      for (const GateCase& each : gate_cases(suite, seed)) {
        met.emplace(to_json(each.shape), each.inputs);
        kinds.insert(each.inputs);
      }
      CHECK(kinds.size() == suite.kinds.size());
    }
    CHECK(met.size() == shapes * suite.kinds.size());
    const auto crossed = gate_cases(suite, 1, Crossing::full);
    for (const GateCase& each : crossed) at_once.emplace(to_json(each.shape), each.inputs);
    if (shapes <= 4) CHECK(at_once.size() == shapes * suite.kinds.size());
    CHECK(at_once.size() == crossed.size());
  }
}

TEST_CASE(
    "sanitize_more: each size that can be afforded has a sanitized case, the others are told") {
  problem::AttentionShape shape = kTinyShape;
  const auto with_length = [&](std::int64_t length) {
    shape.Lq = shape.Lk = length;
    return AttentionProblem(shape).shape();
  };
  const AttentionProblem problem(kTinyShape);
  const Constants small = with_length(40), done = with_length(50), large = with_length(8192);
  std::vector<GateCase> cases = {{.shape = small, .inputs = Inputs::distinct_rows},
                                 {.shape = small},
                                 {.shape = small},
                                 {.shape = done, .sanitized = true},
                                 {.shape = done},
                                 {.shape = large},
                                 {.shape = large},
                                 {.shape = with_length(60), .inputs = Inputs::distinct_rows}};
  CHECK(sanitize_more(problem, cases) == std::vector{large});
  std::vector<bool> sanitized;
  for (const GateCase& each : cases) sanitized.push_back(each.sanitized);
  CHECK(sanitized == std::vector{false, true, false, true, false, false, false, true});
}

TEST_CASE("a kernel that is gated on nothing has not passed") {
  AttentionGate gate(kTinyShape);
  CHECK_THROWS_AS(gate.check(HostAttention{}, {}), std::logic_error);
  CHECK_THROWS_AS(gate.cases("quik"), UserError);
}

TEST_CASE("numbers that differ are told so that they do") {
  CHECK(told_apart(1.5, 2) == std::pair<std::string, std::string>("1.5", "2"));
  CHECK(told_apart(0.01302241, 0.01302242) ==
        std::pair<std::string, std::string>("0.01302241", "0.01302242"));
  CHECK(told_apart(1, 1) == std::pair<std::string, std::string>("1", "1"));
  const auto [one, next] = told_apart(1, 1 + 0x1p-52);
  CHECK(one != next);
}

TEST_CASE("truth cache: computes once, drops the longest unused, waits for another thread") {
  const OnesProblem problem;
  const auto get = [&](TruthCache& cache, std::uint64_t seed) {
    return cache.get({.shape = problem.shape(), .inputs = Inputs::normal, .seed = seed});
  };
  {
    TruthCache cache(problem);
    const auto first = get(cache, 1);
    CHECK(get(cache, 1) == first);
    get(cache, 2);
    CHECK(problem.made.load() == 2);
  }
  {
    problem.made = 0;
    // Room for two: an entry counts itself and its eight doubles.
    TruthCache cache(problem, Truth::usual,
                     2 * (sizeof(TruthCache::Entry) + 8 * sizeof(double)) + 1);
    get(cache, 1);
    get(cache, 2);
    get(cache, 1);
    get(cache, 3);  // 2 has to go
    CHECK(problem.made.load() == 3);
    get(cache, 1);
    CHECK(problem.made.load() == 3);
    get(cache, 2);
    CHECK(problem.made.load() == 4);
  }
  {
    problem.made = 0;
    TruthCache cache(problem);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { get(cache, i % 2); });
    threads.clear();
    CHECK(problem.made.load() == 2);
  }
}

TEST_CASE("truth cache: a truth that is no number is a mistake, not a verdict") {
  OnesProblem problem;
  problem.exact = std::nan("");
  TruthCache cache(problem);
  const GateCase one{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1};
  CHECK_THROWS_AS(cache.get(one), std::logic_error);
  problem.exact = 1;
  CHECK(cache.get(one)->expectations.size() == 1);  // a failure is not kept
}

TEST_CASE("a kernel that cannot be bound fails with the binder's words") {
  const AttentionGate gate(kTinyShape);
  const AttentionProblem problem(kTinyShape);
  TruthCache truth(problem);
  FakeDevice device;
  const Verdict verdict = Gate(device, truth)
                              .check(
                                  [](const Constants&) -> std::expected<BoundKernel, std::string> {
                                    return std::unexpected("no room");
                                  },
                                  gate.cases("quick"));
  CHECK(verdict.finding == Finding::kNotBound);
  CHECK(verdict.message == "no room");
  CHECK(verdict.rejection().finding == "not_bound");
  CHECK(verdict.rejection().message == "no room (" + verdict.where + ")");
  CHECK(verdict.cases == 1);
}

TEST_CASE("the gate stops at the first failure and counts the cases; all pass: where is empty") {
  AttentionGate gate(kTinyShape);
  const auto cases = gate.cases("quick");
  const Verdict right = gate.check(HostAttention{}, cases);
  CHECK(right.passed());
  CHECK(right.cases == static_cast<int>(cases.size()));
  CHECK(right.where.empty());
  CHECK(right.message.empty());
  CHECK(right.worst_rms > 0);

  const Verdict third = gate.check(
      [](const AttentionCall& call) -> std::optional<Fault> {
        call.attend({});
        if (call.number == 7) call.O[0] = 0x7e00;  // three launches a case
        return std::nullopt;
      },
      cases);
  CHECK(third.cases == 3);
  CHECK(third.finding == Finding::kNotFinite);
  CHECK(third.where.find("Lq=77") != std::string::npos);
  CHECK(third.where.find("inputs=" + to_text(cases[2].inputs)) != std::string::npos);
}

TEST_CASE("a device that can is asked to watch the quick suite and to take other schedules") {
  AttentionGate gate(kTinyShape);
  struct Seen {
    bool sanitized;
    std::uint64_t schedule;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  const PlantedKernel kernel = [&](const AttentionCall& call) -> std::optional<Fault> {
    call.attend({});
    CHECK(call.checks.any() == (call.checks.initialized && call.checks.races && call.checks.sync));
    seen.push_back({call.checks.any(), call.schedule});
    return std::nullopt;
  };
  const auto first = [&](const char* suite) {
    seen.clear();
    auto cases = gate.cases(suite);
    cases.resize(1);
    CHECK(gate.check(kernel, cases).passed());
    return seen;
  };
  CHECK(first("quick") == std::vector<Seen>{{false, 0}, {false, 0}, {false, 0}});
  gate.can_check();
  CHECK(first("quick") == std::vector<Seen>{{true, 0}, {false, 1}, {false, 3}, {false, 0}});
  CHECK(first("ragged") == std::vector<Seen>{{false, 0}, {false, 1}, {false, 0}});

  const Verdict verdict = gate.check(
      [](const AttentionCall& call) -> std::optional<Fault> {
        call.attend({});
        if (call.schedule == 3) call.O[0] ^= std::uint16_t{1};
        return std::nullopt;
      },
      gate.cases("quick"));
  CHECK(verdict.finding == Finding::kNotDeterministic);
  CHECK(verdict.message.find(" in schedule 0 and ") != std::string::npos);
  CHECK(verdict.message.ends_with(" in schedule 3"));
}

}  // namespace fa_tune::test
