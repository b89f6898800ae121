// Kernels that are quick because the launch before has left its results, on a GPU.

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "engine/gate/timed_launch.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/tuner/trial/memory_proof.hpp"
#include "tests/engine/tuner/trial/memory_proof_kernels.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::measure;
using namespace fa_tune::problem;
using namespace fa_tune::tuner;

namespace {

// The field's kernel without a cheat, ready to be timed.
struct Honest {
  Honest(const Field& field, std::unique_ptr<Device> device)
      : bench(field.task(), std::move(device)),
        variant(make_variant(field.task(), field.config(0), bench.pool(), bench.device())),
        truth(bench.truth().get({field.task().problem->shape(), Inputs::normal, 3})),
        timed(bench.device(), variant->bind(field.task().problem->shape()).value(), truth,
              nullptr) {}

  std::vector<double> time(const TimingPlan& plan) {
    return bench.device().time(timed.launch(), plan)->samples_us;
  }

  test::Bench bench;
  std::unique_ptr<Variant> variant;
  TimedLaunch::EntryPtr truth;
  TimedLaunch timed;
};

}  // namespace

// FA_TUNE_TEST_DEVICE=cuda:0; on an emulator nothing is left to see.
TEST_CASE("memory: on a GPU the same fail, and what a correct kernel's two times are") {
  if (test::device_under_test().starts_with("emulator")) return;
  for (const int n : {96, 256}) {
    CAPTURE(n);
    const Field field(products(n));
    const auto gpu = [&] {
      return open_device(test::device_under_test(), field.task().target, test::root());
    };
    for (const Effort effort : {Effort::screen, Effort::final_}) {
      const auto honest = field.time(gpu(), 0, effort, ValidatedTimer::Proof::where_measured);
      CHECK(honest.first == "passed");
      for (const int cheat : {1, 3, 4, 6}) {
        const auto told = field.time(gpu(), cheat, effort, ValidatedTimer::Proof::where_measured);
        MESSAGE("n ", n, ", cheat ", cheat, ": ", told.first, ", ", told.second);
        CHECK(told.first.starts_with("lives_on_memory"));
      }
    }
    Honest kernel(field, gpu());
    const MemoryRefresh refresh = kernel.timed.refresh(kernel.truth);
    for (int round = 0; round < 3; ++round) {
      const auto us = [&](const BufferChanges& changes) {
        TimingPlan plan{25, 9, 1};
        plan.before_each = changes;
        return median(kernel.time(plan));
      };
      const double usual = us({}), decoy = us(refresh.decoy), own = us(refresh.own);
      MESSAGE("n ", n, ": ", usual, " us, after fills of decoys ", decoy, ", of its own ", own);
      CHECK(own - decoy < 0.05 * usual + 0.2);
    }
  }
}

TEST_CASE("memory: on a GPU a sort in place passes, and its time is that of what is given") {
  if (test::device_under_test().starts_with("emulator")) return;
  const Field field(sorts());
  const auto gpu = [&] {
    return open_device(test::device_under_test(), field.task().target, test::root());
  };
  std::map<int, double> us;
  for (const Effort effort : {Effort::screen, Effort::final_})
    for (const int cheat : {0, 1}) {
      const auto told = field.time(gpu(), cheat, effort, ValidatedTimer::Proof::where_measured);
      MESSAGE("sort ", cheat, ": ", told.first, ", ", told.second, " us");
      CHECK(told.first == "passed");
      us[cheat] = told.second;
    }
  CHECK(us[1] > 0.9 * us[0]);
  // What restoring is worth, and what a pause between samples costs one of them.
  Honest kernel(field, gpu());
  const auto time = [&](const BufferChanges& restore) {
    TimingPlan plan{25, 50, 3};
    plan.restore = restore;
    return kernel.time(plan);
  };
  const auto sorted = time({}), given = time(kernel.timed.restore());
  MESSAGE("sorted ", median(sorted), " us, as given ", median(given), " us, from ",
          std::ranges::min(given), " to ", std::ranges::max(given));
  CHECK(median(given) > 1.5 * median(sorted));
}

}  // namespace fa_tune::test
