#include "engine/gate/timed_launch.hpp"

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/engine/gate/attention_gate.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

TEST_CASE("a timed launch holds real data, frees it, and refuses unknown arguments") {
  const AttentionProblem problem(kTinyShape);
  const Instance instance = problem.make(problem.shape(), Inputs::normal, 3);
  FakeDevice device;
  BoundKernel kernel{.kernel = device.add([&](const FakeDevice::Call& call) {
                       const auto& K = instance.tensors[1].bytes;
                       CHECK(std::memcmp(call.pointers.at(0), K.data(), K.size()) == 0);
                       CHECK(call.scalars.at(0) == instance.scalars[4].bytes);
                       return std::optional<Fault>{};
                     }),
                     .launch = {},
                     .argument_names = {"K", "O", "scale"}};
  {
    const TimedLaunch launch(device, kernel, instance);
    CHECK(device.buffers_held() == 4);
    CHECK(device.launch(launch.launch()).has_value());
  }
  CHECK(device.buffers_held() == 0);
  kernel.argument_names = {"Q", "size"};
  CHECK_THROWS_WITH_AS(
      TimedLaunch(device, kernel, instance),
      "argument 'size' of the kernel is unknown to its problem: the manifest may "
      "name Q, K, V, O, B, H, Lq, Lk, scale, Hkv, window_left, window_right, softcap",
      UserError);
  CHECK(device.buffers_held() == 0);
}

TEST_CASE(
    "launches beside one another have the very same buffers, for as long as one of them lives") {
  const AttentionProblem problem(kTinyShape);
  const Instance instance = problem.make(problem.shape(), Inputs::normal, 3);
  FakeDevice device;
  const BoundKernel one{
      .kernel = device.add([](const FakeDevice::Call&) { return std::optional<Fault>{}; }),
      .launch = {},
      .argument_names = {"Q", "K"}};
  const BoundKernel other{
      .kernel = one.kernel, .launch = {}, .argument_names = {"K", "O", "scale"}};
  auto first = std::make_unique<TimedLaunch>(device, one, instance);
  auto second = std::make_unique<TimedLaunch>(*first, other, instance);
  CHECK(device.buffers_held() == 4);
  CHECK(second->launch().arguments.at(0) == first->launch().arguments.at(1));
  first.reset();
  CHECK(device.buffers_held() == 4);
  CHECK(device.launch(second->launch()).has_value());
  second.reset();
  CHECK(device.buffers_held() == 0);
}

namespace {

// A kernel under the clock: what is found wrong with it there, after `launches` of it.
std::string found(const std::function<void(const AttentionCall&)>& kernel, int launches) {
  const AttentionProblem problem(kTinyShape);
  TruthCache truths(problem);
  const auto truth = truths.get({problem.shape(), Inputs::normal, 3});
  const auto other = truths.get({problem.shape(), Inputs::normal, 4});
  FakeDevice device;
  BoundKernel bound = attention_kernel(device, kTinyShape, [&](const AttentionCall& call) {
    kernel(call);
    return std::optional<Fault>{};
  });
  TimedLaunch launch(device, bound, truth->instance);
  for (int i = 0; i < launches; ++i) CHECK(device.launch(launch.launch()).has_value());
  if (const auto rejection = launch.check(truth)) return "clock: " + rejection->finding;
  const auto rejection = launch.check_exchanged(other);
  CHECK(device.buffers_held() == 4);
  return rejection ? "exchange: " + rejection->finding : "passed";
}

}  // namespace

TEST_CASE("what the clock left behind is looked at, and that the work follows its inputs") {
  CHECK(found([](const AttentionCall& call) { call.attend({}); }, 5) == "passed");
  CHECK(found([](const AttentionCall&) {}, 5) == "clock: not_finite");
  CHECK(found([](const AttentionCall& call) { call.attend({.scale_factor = 2}); }, 5) ==
        "clock: wrong");
  // Right as long as it looks as if somebody looked.
  CHECK(found(
            [](const AttentionCall& call) {
              if (call.number < 5) call.attend({});
            },
            5) == "exchange: wrong");
  CHECK(found(
            [](const AttentionCall& call) {
              if (call.O[0] == 0xffff) call.attend({});
            },
            5) == "exchange: wrong");
}

TEST_CASE("what a kernel finds round its tensors is the same in the gate and under the clock") {
  const AttentionProblem problem(kTinyShape);
  TruthCache truths(problem);
  const GateCase one{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 3};
  FakeDevice device;
  // 64 bytes before each tensor, and the first behind the output.
  std::vector<std::vector<std::byte>> seen;
  BoundKernel bound = attention_kernel(device, kTinyShape, [&](const AttentionCall& call) {
    std::vector<std::byte> round;
    for (const auto* tensor : {call.Q, call.K, call.V, call.O}) {
      const auto* begin = reinterpret_cast<const std::byte*>(tensor);
      round.insert(round.end(), begin - 64, begin);
    }
    round.push_back(reinterpret_cast<const std::byte*>(call.O + call.query_elements())[0]);
    seen.push_back(std::move(round));
    call.attend({});
    return std::optional<Fault>{};
  });
  const Binder bind = [&](const Constants&) { return bound; };
  CHECK(Gate(device, truths).check(bind, {one}).passed());
  const std::size_t gated = seen.size();
  TimedLaunch timed(device, bound, truths.get(one), nullptr);
  REQUIRE(device.launch(timed.launch()));
  REQUIRE(seen.size() == gated + 1);
  CHECK(seen.front() == seen.back());
}

TEST_CASE("notes that a kernel leaves in its inputs under the clock are found") {
  const AttentionProblem problem(kTinyShape);
  TruthCache truths(problem);
  const auto truth = truths.get({.shape = problem.shape(), .inputs = Inputs::normal, .seed = 3});
  FakeDevice device;
  bool notes = false;
  const BoundKernel bound = attention_kernel(device, kTinyShape, [&](const AttentionCall& call) {
    call.attend({});
    if (notes) call.K[5] ^= 1;
    return std::optional<Fault>{};
  });
  TimedLaunch timed(device, bound, truth, nullptr);
  for (const bool each : {false, true}) {
    notes = each;
    REQUIRE(device.launch(timed.launch()));
    const auto rejection = timed.check_inputs(truth);
    CHECK(rejection.has_value() == notes);
    if (rejection) CHECK(rejection->message.find("wrote to an input: K[") != std::string::npos);
  }
}

}  // namespace fa_tune::test
