#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "tests/engine/gate/attention_gate.hpp"
#include "tests/engine/gate/four_numbers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

namespace {

using Bits = std::vector<std::uint16_t>;

// A kernel that computes only where `key` of a call is new, else repeats what it gave then.
template <typename Key>
PlantedKernel keeping(Key key) {
  return [key, kept = std::make_shared<std::map<decltype(key(AttentionCall{})), Bits>>()](
             const AttentionCall& call) -> std::optional<Fault> {
    const auto [place, fresh] = kept->try_emplace(key(call));
    if (fresh) call.attend({});
    if (fresh) place->second.assign(call.O, call.O + call.query_elements());
    std::copy(place->second.begin(), place->second.end(), call.O);
    return std::nullopt;
  };
}

}  // namespace

TEST_CASE("results kept by address or by a look at one input are found out as stale") {
  AttentionGate gate(kTinyShape);
  const auto by_address = [](const AttentionCall& call) {
    return std::pair(call.Q, call.shape.Lq * 1000 + call.shape.Lk);
  };
  const auto by_look = [](const AttentionCall& call) {
    return Bits(call.Q, call.Q + call.query_elements());
  };
  const auto cases = gate.cases("quick");
  constexpr const char* kInputs[] = {"Q", "K", "V"};
  const Verdict address = gate.check(keeping(by_address), cases);
  CHECK(address.finding == Finding::kStale);
  CHECK(address.cases == 1);
  CHECK(address.message.find(std::string("the output stayed as it was when ") +
                             kInputs[*cases[0].changed_input % 3] + " changed in its place: O[") ==
        0);
  // The first case to change another than Q, which alone this one looks at.
  const Verdict look = gate.check(keeping(by_look), cases);
  const auto other = std::ranges::find_if(
      cases, [](const GateCase& each) { return *each.changed_input % 3 != 0; });
  CHECK(look.finding == Finding::kStale);
  CHECK(look.cases == 1 + (other - cases.begin()));
  CHECK(look.message.find(std::string("when ") + kInputs[*other->changed_input % 3] + " changed") !=
        std::string::npos);
}

TEST_CASE("an output that looks finished must not be taken for its own") {
  AttentionGate gate(kTinyShape);
  const Verdict verdict = gate.check(
      [](const AttentionCall& call) -> std::optional<Fault> {
        if (call.O[0] == 0xffff) call.attend({});
        return std::nullopt;
      },
      gate.cases("quick"));
  CHECK(verdict.finding == Finding::kStale);
}

TEST_CASE("a changed case is the same case but for one input") {
  const AttentionProblem problem(kTinyShape);
  TruthCache truths(problem);
  const GateCase one{.shape = problem.shape(), .seed = 5, .changed_input = 4};
  const auto before = truths.get(one);
  const auto after = truths.get_changed(one);
  CHECK(truths.get_changed(one) == after);
  CHECK(before->changed.empty());
  CHECK(after->changed == "K");  // the fifth of Q, K, V, Q, K
  for (const std::size_t i : {0, 2})
    CHECK(before->instance.tensors[i].bytes == after->instance.tensors[i].bytes);
  CHECK(before->instance.tensors[1].bytes != after->instance.tensors[1].bytes);
  CHECK(before->expectations[0].exact != after->expectations[0].exact);
}

TEST_CASE("a few elements of an input changed: the rest, and what it gives, is as it was") {
  const AttentionProblem problem(kTinyShape);
  TruthCache truths(problem);
  GateCase few{.shape = problem.shape(), .seed = 5, .changed_input = 0, .few_elements = true};
  const auto before = truths.get(few);
  const auto after = truths.get_changed(few);
  CHECK(after->changed == "4 elements of Q");
  const auto& was = before->instance.tensors[0].bytes;
  const auto& is = after->instance.tensors[0].bytes;
  std::size_t different = 0;
  for (std::size_t i = 0; i < is.size(); i += 2)
    different += was[i] != is[i] || was[i + 1] != is[i + 1];
  CHECK(different >= 1);
  CHECK(different <= 4);
  CHECK(before->expectations[0].exact != after->expectations[0].exact);
  few.few_elements = false;
  CHECK(truths.get_changed(few)->changed == "Q");
}

TEST_CASE("a kernel that takes a part of its result for the sign of the rest is found out") {
  AttentionGate gate(kTinyShape);
  // One row is computed anew; if it is as it was all others are left.
  const Verdict verdict = gate.check(
      [](const AttentionCall& call) -> std::optional<Fault> {
        const std::vector<std::uint16_t> left(call.O, call.O + call.query_elements());
        call.attend({});
        if (std::equal(left.begin(), left.begin() + call.shape.D, call.O))
          std::copy(left.begin(), left.end(), call.O);
        return std::nullopt;
      },
      gate.cases("quick"));
  CHECK((verdict.finding == Finding::kStale || verdict.finding == Finding::kWrong));
  CHECK(verdict.message.find("4 elements of ") != std::string::npos);
}

TEST_CASE("hidden shapes: drawn from the seed, small, and none of them known before") {
  const AttentionProblem problem({.B = 1, .H = 8, .Lq = 512, .Lk = 512, .D = 64, .causal = true});
  std::set<std::string> shapes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto cases = hidden_cases(problem, seed);
    CHECK(cases.size() == 3);
    for (const GateCase& each : cases) {
      const AttentionShape shape = AttentionShape::from(each.shape);
      CHECK(shape.B * shape.H * shape.Lq * shape.Lk <= 16'000);
      CHECK(shape.D == 64);
      CHECK(shape.causal);
      CHECK(each.changed_input.has_value());
      shapes.insert(to_json(each.shape));
    }
    CHECK(hidden_cases(problem, seed)[2].seed == cases[2].seed);
  }
  CHECK(shapes.size() > 140);
  // Watched, a shape that was dealt rows of equal elements alone meets others too.
  CHECK(trial_cases(problem, 1, TimedShape::none).size() == 7 + 1 + 3);
  CHECK(trial_cases(problem, 1, TimedShape::some).size() == 7 + 3 + 2);
  CHECK(trial_cases(problem, 1, TimedShape::all).size() == 7 + 3 + 6);
}

namespace {

// y = 1 through a workspace.
class WorkspaceProblem final : public test::FourNumbers {
 public:
  std::string kind() const override { return "workspace"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    const auto tensor = [](const std::string& name, Role role) {
      return Tensor{.name = name, .type = DType::f32, .role = role, .dims = {4}, .bytes = {}};
    };
    return {.shape = shape,
            .inputs = inputs,
            .seed = seed,
            .tensors = {tensor("w", Role::workspace), tensor("y", Role::output)},
            .scalars = {}};
  }
  std::vector<Expectation> expect(const Instance&, Truth) const override {
    return {{.tensor = "y", .exact = {1, 1, 1, 1}, .bound = {0, 0, 0, 0}, .rms_bound = 0}};
  }
};

Verdict check_workspace(const std::function<void(float* w, float* y)>& kernel) {
  const WorkspaceProblem problem;
  TruthCache truth(problem);
  FakeDevice device;
  const Binder bind = [&](const Constants&) -> std::expected<BoundKernel, std::string> {
    const KernelHandle handle = device.add([&](const FakeDevice::Call& call) {
      kernel(reinterpret_cast<float*>(call.pointers[0]),
             reinterpret_cast<float*>(call.pointers[1]));
      return std::optional<Fault>{};
    });
    return BoundKernel{.kernel = handle, .launch = {}, .argument_names = {"w", "y"}};
  };
  return Gate(device, truth).check(bind, {{.shape = problem.shape()}});
}

}  // namespace

TEST_CASE("a workspace may be written, holds NaN before each launch, and has guards") {
  CHECK(check_workspace([](float* w, float* y) {
          for (int i = 0; i < 4; ++i) w[i] = 1;
          for (int i = 0; i < 4; ++i) y[i] = w[3 - i];
        }).passed());
  const auto unwritten = check_workspace([](const float* w, float* y) {
    for (int i = 0; i < 4; ++i) y[i] = 1 + 0 * w[i];
  });
  CHECK(unwritten.finding == Finding::kNotFinite);
  const auto beyond = check_workspace([](float* w, float* y) {
    w[4] = 0;
    for (int i = 0; i < 4; ++i) y[i] = 1;
  });
  CHECK(beyond.finding == Finding::kGuardDamaged);
}

}  // namespace fa_tune::test
