// Kernels that are quick because the launch before has left its results, or a note, where they find
// them: under a clock that measures, whose launches follow one another in the same buffers.

#include "engine/tuner/trial/memory_proof.hpp"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/gate/timed_launch.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/engine/tuner/trial/memory_proof_kernels.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::measure;
using namespace fa_tune::problem;
using namespace fa_tune::tuner;

TEST_CASE("memory: what a launch leaves in its buffers buys no time, measured or predicted") {
  const Field field;
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    const auto honest = field.time(field.clock(), 0, effort, ValidatedTimer::Proof::where_measured);
    CHECK(honest.first == "passed");
    for (const int cheat : {1, 3, 4, 5, 6}) {
      CAPTURE(cheat);
      const auto told =
          field.time(field.clock(), cheat, effort, ValidatedTimer::Proof::where_measured);
      CHECK(told.first.starts_with("lives_on_memory: it takes "));
    }
  }
  CHECK(field.time(field.predictor(), 0, Effort::final_, ValidatedTimer::Proof::always).first ==
        "passed");
  const auto screened = [&](int cheat) {
    return field
        .time(field.predictor(), cheat, Effort::screen, ValidatedTimer::Proof::where_measured)
        .second;
  };
  const double whole_work = screened(0);
  for (const int cheat : {1, 3, 4, 5, 6}) {
    CAPTURE(cheat);
    const auto told =
        field.time(field.predictor(), cheat, Effort::final_, ValidatedTimer::Proof::always);
    CHECK(told.first.starts_with("lives_on_memory: it takes "));
    // Where memory is fresh when the model is asked the time is that of the whole work.
    CHECK(screened(cheat) > 0.9 * whole_work);
  }
}

TEST_CASE("memory: what is written over is given anew for every timed launch, correct or not") {
  const Field field(sorts());
  const auto fresh =
      field.time(field.predictor(), 0, Effort::final_, ValidatedTimer::Proof::where_measured);
  REQUIRE(fresh.first == "passed");
  for (const Effort effort : {Effort::screen, Effort::final_})
    for (const int cheat : {0, 1}) {
      CAPTURE(cheat);
      const auto told =
          field.time(field.clock(), cheat, effort, ValidatedTimer::Proof::where_measured);
      CHECK(told.first == "passed");
      CHECK(told.second > 0.95 * fresh.second);
    }
  for (const int cheat : {0, 1})
    CHECK(
        field.time(field.predictor(), cheat, Effort::final_, ValidatedTimer::Proof::always).first ==
        "passed");
}

TEST_CASE("memory: the gate changes a few elements, and sees who looked at others alone") {
  const Field field;
  const auto gated = [&](int cheat) {
    test::Bench bench(field.task(), field.predictor());
    return bench.gate(field.task().templates[0], field.config(cheat), "quick").finding;
  };
  for (const int honest : {0, 5, 6}) CHECK(gated(honest) == Finding::kPassed);
  for (const int cheat : {1, 3, 4}) {
    CAPTURE(cheat);
    CHECK(gated(cheat) == Finding::kStale);
  }
}

TEST_CASE("memory: a kernel that keeps state is bound by nobody, whatever command asks") {
  const test::CustomSpace place;
  const Verdict verdict =
      place.gate_kernel("__global__ void scale_add(const T* x, T* y, T a, int n) {",
                        "__global__ void scale_add(const T* x, T* y, T a, int n) {\n  static "
                        "__device__ int launches;\n"
                        "  if (atomicAdd(&launches, 1) < 0) return;");
  CHECK(verdict.finding == Finding::kNotBound);
  CHECK(verdict.message.starts_with("keeps device memory from launch to launch: "));
}

namespace {

// A clock whose kernel takes `us` by what is done before each launch and by how often it was asked.
class ScriptedClock : public test::MeasuringEmulator {
 public:
  using Script = std::function<double(const BufferChanges& before_each, int asked)>;
  ScriptedClock(std::unique_ptr<Device> inner, Script script)
      : MeasuringEmulator(std::move(inner), nullptr), script_(std::move(script)) {}
  std::expected<Timing, Fault> time(const Launch&, const TimingPlan& plan) override {
    launches += plan.launches_per_sample * (plan.samples + plan.warm_up_samples);
    Timing timing;
    timing.samples_us.assign(static_cast<std::size_t>(plan.samples),
                             script_(plan.before_each, asked_++));
    return timing;
  }
  int launches = 0;

 private:
  Script script_;
  int asked_ = 0;
};

}  // namespace

TEST_CASE("memory: which kernels fail under the clock, and what it costs") {
  const Field field;
  const auto told = [&](const ScriptedClock::Script& script, Effort effort, double us = 4,
                        bool slow = false, const BufferChanges& restore = {}) {
    ScriptedClock clock(field.predictor(), script);
    TruthCache truths(*field.task().problem);
    const auto truth = truths.get({field.task().problem->shape(), Inputs::normal, 3});
    const MemoryRefresh refresh(clock, truth->instance.tensors, [&](std::size_t) {
      return Place{BufferHandle{77}, 0};
    });
    Measurement measured;
    measured.time_us.value = us;
    const Launch launch;
    const auto found =
        find_life_on_memory(clock, {launch, restore, refresh, measured, effort, slow});
    return std::pair(found ? found->finding : "none", clock.launches);
  };
  const auto is_own = [&](const BufferChanges& changes) {
    return !changes.fills.empty() && changes.fills[0].buffer == BufferHandle{77};
  };
  const auto is_usual = [](const BufferChanges& changes) { return changes.empty(); };
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    // The fill costs 3 us; a cache that holds decoys besides makes the kernel slower, not faster.
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7 : 8;
              },
              effort)
              .first == "none");
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7.3 : 7;
              },
              effort)
              .first == "none");
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7.5 : 7;
              },
              effort)
              .first == "lives_on_memory");
    // An accident happens once.
    CHECK(told(
              [&](const auto& changes, int n) {
                return is_usual(changes) ? 4 : is_own(changes) && n < 3 ? 20 : 7;
              },
              effort)
              .first == "none");
    // One that begins to work again when its count was taken from it.
    CHECK(told(
              [&](const auto& changes, int n) {
                return n < (effort == Effort::screen ? 1 : 2) ? (is_usual(changes) ? 4.0 : 7.0)
                       : is_usual(changes)                    ? 12.0
                                                              : 15.0;
              },
              effort)
              .first == "lives_on_memory");
  }
  const auto steady = [&](double us) { return [us](const BufferChanges&, int) { return us; }; };
  // Of a launch of 4 us 78 more, of one of 60 us 16, of one of milliseconds 2; of one that is slow
  // anyway fewer.
  CHECK(told(steady(4), Effort::screen).second == 2 * 3 * 13);
  CHECK(told(steady(60), Effort::screen, 60).second == 2 * 4 * 2);
  CHECK(told(steady(5000), Effort::screen, 5000).second == 2);
  CHECK(told(steady(60), Effort::screen, 60, true).second == 2 * 2 * 2);
  CHECK(told(steady(4), Effort::final_).second == 3 * 10 * 13);
  // Of what is restored before each, single launches.
  const BufferChanges restore{{}, {{BufferHandle{1}, BufferHandle{2}, 4}}};
  CHECK(told(steady(4), Effort::screen, 4, false, restore).second == 2 * 26);
}

TEST_CASE("memory: what is done for the proof and for its control is as much, on other memory") {
  const Field field;
  const auto device = field.predictor();
  TruthCache truths(*field.task().problem);
  const auto truth = truths.get({field.task().problem->shape(), Inputs::normal, 3});
  std::vector<Tensor> tensors = truth->instance.tensors;
  tensors[1].role = Role::inout;  // which is restored anyway
  const MemoryRefresh refresh(*device, tensors, [](std::size_t i) {
    return Place{static_cast<BufferHandle>(100 + i), 4096};
  });
  REQUIRE(refresh.own.fills.size() == 2);
  CHECK(refresh.own.copies.empty());
  CHECK(refresh.own.fills[0].buffer == BufferHandle{102});
  CHECK(refresh.own.fills[1].buffer == BufferHandle{103});
  REQUIRE(refresh.decoy.fills.size() == 2);
  CHECK(refresh.decoy.copies.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(refresh.decoy.fills[i].bytes == refresh.own.fills[i].bytes);
    CHECK(refresh.decoy.fills[i].buffer == refresh.decoys->handle());
  }
}

}  // namespace fa_tune::test
