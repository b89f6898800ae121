// Finals that are held again, go on after the program has died, or lose a kernel on the way.

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/tuner/finals/finals.hpp"
#include "tests/engine/tuner/finals/finals_fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::tuner;

TEST_CASE("a run whose finalists were raced is let be; with others they race again") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(by_work);
  const EvolveResult result = run(store, *device, 30);
  const auto before = store.finals(result.run);
  const int timings = device->timings;
  run(store, *device, 30, result.run);
  CHECK(device->timings == timings);
  CHECK(device->renewals == kRenewals);

  run(store, *device, 90, result.run);
  const auto after = store.finals(result.run);
  CHECK(device->renewals == 2 * kRenewals);
  CHECK(after.back().race == 2);
  std::set<std::int64_t> raced;
  for (const FinalRow& row : after)
    if (row.race == 2) raced.insert(row.trial);
  std::set<std::int64_t> finalists;
  for (const TrialRow& trial : choose_finalists(toy(), store, result.run))
    finalists.insert(trial.id);
  CHECK(raced == finalists);
  CHECK(ids(before) != ids(after));
  check_sound(folder / "a.db");
}

TEST_CASE("killed in the finals, a run comes to the same when it goes on") {
  const test::ScratchFolder whole(test::memory_folder());
  REQUIRE(outcome_of_child(whole / "a.db", "") == 0);
  const std::string expected = found(whole / "a.db");
  for (const char* point : {"search_over", "final_gated", "final_gated:7", "final_written",
                            "final_committed", "finals_over"}) {
    CAPTURE(point);
    const test::ScratchFolder folder(test::memory_folder());
    CHECK(outcome_of_child(folder / "a.db", point) == -SIGKILL);
    CHECK(outcome_of_child(folder / "a.db", "") == 0);
    CHECK(found(folder / "a.db") == expected);
    check_sound(folder / "a.db");
  }
}

TEST_CASE("finals that were left out are held when the run goes on") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(by_work);
  const EvolveResult left = run(store, *device, 30, {}, false, false);
  CHECK(left.finals_left);
  CHECK_FALSE(left.interrupted);
  CHECK(left.counts.best);
  CHECK(store.finals(left.run).empty());
  CHECK(store.run(left.run)->state == "interrupted");
  const EvolveResult held = run(store, *device, 30, left.run);
  CHECK_FALSE(held.finals_left);
  CHECK(store.finals(left.run).size() >= 10);
  CHECK(store.run(left.run)->state == "done");
}

TEST_CASE("stopped in the finals, a run keeps no part of a race") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(by_work);
  std::atomic<bool> stop{false};
  device->dies = [&](double, const TimingPlan&) {
    stop = device->renewals > 0;
    return false;
  };
  const EvolveResult stopped = run(store, *device, 30, {}, stop);
  CHECK(stopped.interrupted);
  CHECK(store.finals(stopped.run).empty());
  CHECK_FALSE(run(store, *device, 30, stopped.run).interrupted);
  CHECK(store.finals(stopped.run).size() >= 10);
}

TEST_CASE("a kernel that ends its process in the race, twice, fails; the others race") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  // All but one are told apart by their work; of the fastest the process does not live long.
  const auto whole = device_of(by_work);
  const EvolveResult sound = run(store, *whole, 40);
  const auto expected = store.finals(sound.run);
  const double deadly = store.trial(expected.front().trial)->screen_time->us.value;

  const auto device = device_of(by_work);
  int deaths = 0;
  device->dies = [&](double truth, const TimingPlan& plan) {
    const bool in_block =
        plan.samples == 3 && plan.warm_up_samples == 1 && plan.before_each.fills.empty();
    const bool now = in_block && std::abs(truth / deadly - 1) < 0.0015;
    deaths += now;
    return now;
  };
  const EvolveResult result = run(store, *device, 40);
  const auto rows = store.finals(result.run);
  std::size_t failed = 0;
  for (const TrialRow& trial : store.trials(result.run))
    if (trial.stage == "final" && trial.outcome == Outcome::failed) {
      ++failed;
      CHECK(trial.finding == "crash");
    }
  CHECK(failed >= 1);
  CHECK(deaths == 2 * static_cast<int>(failed));
  CHECK(rows.size() + failed == expected.size());
  CHECK(rows.front().blocks >= 16);
  check_sound(folder / "a.db");
}

TEST_CASE(
    "processes that end while no kernel of the race runs: once is borne, twice ends the race") {
  // The race begins with memory of its own.
  struct Ending : test::MeasuringEmulator {
    using MeasuringEmulator::MeasuringEmulator;
    std::span<const Fault> deaths() const override { return ended; }
    BufferHandle allocate(std::size_t bytes) override {
      if (renewals < 2 || ended.size() == most) return MeasuringEmulator::allocate(bytes);
      ended.push_back({FaultKind::died, "allocation: signal 9"});
      throw MachineError("there is no memory");
    }
    std::vector<Fault> ended;
    std::size_t most = 0;
  };
  for (const std::size_t most : {1, 2}) {
    CAPTURE(most);
    const test::ScratchFolder folder(test::memory_folder());
    Store store(folder / "a.db", Store::Mode::write);
    Ending device(open_device("emulator:l4", toy().target, test::root()), by_work);
    device.most = most;
    const EvolveResult result = run(store, device, 20);
    CHECK_FALSE(result.device_lost);
    CHECK(device.ended.size() == most);
    CHECK(device.renewals == (most == 1 ? kRenewals + 1 : 3));
    const auto rows = store.finals(result.run);
    REQUIRE(rows.size() >= 2);
    CHECK((rows.front().blocks > 0) == (most == 1));
    for (const TrialRow& trial : store.trials(result.run))
      CHECK_FALSE((trial.stage == "final" && trial.outcome == Outcome::failed));
  }
}

TEST_CASE("a clock that never keeps still: each has the figure that it had by itself") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(by_work);
  // Slower and slower, so that no block ends as it began; in a new process from the beginning.
  int process = 0;
  device->dies = [&](double, const TimingPlan& plan) {
    const bool in_block =
        plan.samples == 3 && plan.warm_up_samples == 1 && plan.before_each.fills.empty();
    if (device->renewals != process) device->slowed = 1;
    process = device->renewals;
    if (in_block) device->slowed *= 1.1;
    return false;
  };
  const EvolveResult result = run(store, *device, 20);
  const auto rows = store.finals(result.run);
  REQUIRE(rows.size() >= 2);
  check_sound(folder / "a.db");
  for (const FinalRow& row : rows) CHECK(row.blocks == 0);
  CHECK(std::ranges::count_if(rows, &FinalRow::tied_first) == 1);
  CHECK(nlohmann::json::parse(rows.front().detail_json)["samples"] >= 100);
}

}  // namespace fa_tune::test
