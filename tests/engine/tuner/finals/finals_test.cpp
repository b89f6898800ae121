// The finals as they are on a device that measures: gated alone, raced, placed, kept.

#include "engine/tuner/finals/finals.hpp"

#include <algorithm>
#include <csignal>
#include <set>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "db/check.hpp"
#include "engine/device/local/open.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/report/run_fingerprint.hpp"
#include "engine/tuner/finals/final_places.hpp"
#include "engine/tuner/finals/finalists.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/engine/tuner/quiet_listener.hpp"
#include "tests/engine/tuner/toy.hpp"

using namespace fa_tune;

namespace {

// Of finals: one to be gated in, and those of the race.
constexpr int kRenewals = 1 + ProcessSeries::kProcesses;

const TuningTask& toy() {
  static const TuningTask task = test::toy_project();
  return task;
}

// The more a toy works, the longer its image. By a little: near enough for the finals.
double by_work(const KernelImage& image) {
  return 60 + static_cast<double>(image.bytes.size()) / 10000;
}
// By much.
double far_apart(const KernelImage& image) { return static_cast<double>(image.bytes.size()) / 100; }

std::unique_ptr<test::MeasuringEmulator> device_of(test::MeasuringEmulator::Truth truth) {
  return std::make_unique<test::MeasuringEmulator>(
      open_device("emulator:l4", toy().target, test::root()), std::move(truth));
}

EvolveResult run(Store& store, Device& device, int trials, std::optional<std::int64_t> resume = {},
                 const std::atomic<bool>& stop = false, bool finals = true) {
  const auto compiler = test::toy_compiler();
  EvolveOptions options;
  options.trials = trials;
  options.seed = 3;
  options.jobs = 2;
  options.resume = resume;
  options.finals = finals;
  test::QuietListener listener;
  return evolve(toy(), device, *compiler, store, options, listener, stop);
}

std::vector<std::int64_t> ids(const auto& rows) {
  std::vector<std::int64_t> list;
  for (const FinalRow& row : rows) list.push_back(row.trial);
  return list;
}

// Begins a run on a clock without noise, or goes on with it; dies at the fault point, if one is
// named.
int outcome_of_child(const std::filesystem::path& database, const std::string& dies_at) {
  const pid_t child = fork();
  if (child == 0) {
    if (!dies_at.empty()) arm_fault_point(dies_at);
    Store store(database, Store::Mode::write);
    const auto device = device_of(by_work);
    device->noise = 0;
    const auto runs = store.runs();
    run(store, *device, 30, runs.empty() ? std::nullopt : std::optional(runs.front().id));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// All that finals leave behind, figures included.
std::string found(const std::filesystem::path& database) {
  const Store store(database, Store::Mode::read);
  std::string text = store.run(1)->state + " " + run_fingerprint(store, 1);
  for (const FinalRow& row : store.finals(1))
    text += fmt::format(" {}.{}: {} {} {}", row.race, row.place, row.trial, row.time.us.value,
                        row.cold->us.value);
  return text;
}

void check_sound(const std::filesystem::path& database) {
  for (const std::string& defect : check_database(database).defects) FAIL_CHECK(defect);
}

}  // namespace

TEST_CASE("finalists are raced in new processes, and their figures are the race's") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(by_work);
  const EvolveResult result = run(store, *device, 60);
  CHECK(device->renewals == kRenewals);
  const auto rows = store.finals(result.run);
  const auto finalists = choose_finalists(toy(), store, result.run);
  REQUIRE(rows.size() >= 12);
  CHECK(rows.size() == finalists.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FinalRow& row = rows[i];
    const TrialRow trial = store.trial(row.trial).value();
    CHECK(row.race == 1);
    CHECK(row.place == static_cast<int>(i) + 1);
    CHECK(trial.stage == "final");
    CHECK(trial.final_time->us.value == row.time.us.value);
    CHECK(row.time.us.low <= row.time.us.value);
    CHECK(row.blocks >= 16);
    if (i > 0) CHECK(row.rank_us >= rows[i - 1].rank_us);
    // Seven microseconds more with a cold cache, which is kept apart.
    REQUIRE(row.cold);
    CHECK(row.cold->us.value == doctest::Approx(row.time.us.value + 7).epsilon(0.01));
    CHECK(row.cold_samples_us.size() == 50);
    CHECK(nlohmann::json::parse(row.cold_detail_json)["l2"] == "cold");
    const auto detail = nlohmann::json::parse(row.detail_json);
    CHECK(detail["l2"] == "warm");
    CHECK(detail["processes"] == ProcessSeries::kProcesses);
    CHECK(detail["sm_mhz"]["median"] == 1755);
    const auto samples = store.samples(row.trial);
    CHECK(samples.back().phase == "final");
    CHECK(samples.back().us.size() >= 3 * static_cast<std::size_t>(row.blocks));
    CHECK(detail["samples"] == samples.back().us.size());
  }
  // Who is slower for certain is not tied, and the interval says so.
  CHECK(rows.front().tied_first);
  CHECK_FALSE(rows.back().tied_first);
  CHECK(rows.back().ratio.low > 1);
  TrialFilter filter;
  filter.limit = 1;
  CHECK(store.best(filter).front().id == rows.front().trial);
  check_sound(folder / "a.db");
}

TEST_CASE("who is far behind by its screen stays away from the finals, but for the first four") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of(far_apart);
  const EvolveResult result = run(store, *device, 60);
  REQUIRE(result.counts.passed > 12);
  const auto finalists = choose_finalists(toy(), store, result.run);
  CHECK(finalists.size() >= 5);
  CHECK(finalists.size() < 12);
  const auto screen_of = [](const TrialRow& trial) { return trial.screen_time->us.value; };
  const std::string preset = toy().space.presets().front().config.to_json();
  CHECK(finalists.back().config_json == preset);
  for (std::size_t i = 4; i + 1 < finalists.size(); ++i)
    CHECK(screen_of(finalists[i]) <= 1.08 * screen_of(finalists.front()));
  CHECK(screen_of(finalists.back()) > 1.08 * screen_of(finalists.front()));
}

TEST_CASE("the baseline is the first preset, in whatever order it was written") {
  const TuningTask task = test::toy_project(
      {{"{template: toy, BLOCK: 32, WORK: 21, FACTOR: 2, COMPILES: true, NAME: a}",
        "{NAME: a, WORK: 21, template: toy, COMPILES: true, FACTOR: 2, BLOCK: 32}"}});
  const std::string preset = task.space.presets().front().config.to_json();
  for (const char* strategy : {"evolve", "random", "genetic"}) {
    CAPTURE(strategy);
    const test::ScratchFolder folder(test::memory_folder());
    Store store(folder / "a.db", Store::Mode::write);
    // The preset is slower for certain, but by less than what makes it no baseline.
    const auto device = device_of([](const KernelImage& image) {
      return 20 + static_cast<double>(image.bytes.size()) / 10'000;
    });
    device->noise = 0.008;  // so that the race takes more than its fewest blocks
    const auto compiler = test::toy_compiler();
    EvolveOptions options;
    options.trials = 30;
    options.seed = 3;
    options.jobs = 2;
    options.strategy = strategy;
    test::QuietListener listener;
    const EvolveResult result = evolve(task, *device, *compiler, store, options, listener, false);
    REQUIRE(result.counts.baseline);
    CHECK(result.counts.baseline->config_json == preset);
    // Whoever is no baseline and slower for certain leaves the race; this one runs to its end.
    int most = 0;
    int its_own = 0;
    for (const FinalRow& row : store.finals(result.run)) {
      most = std::max(most, row.blocks);
      if (store.trial(row.trial)->config_json == preset) its_own = row.blocks;
    }
    CHECK(its_own == most);
    CHECK(most > 16);
  }
}

TEST_CASE("kernels that tie stand in the order of what they cost, then of their birth") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = device_of([](const KernelImage&) { return 20.0; });
  const EvolveResult result = run(store, *device, 40);
  const auto rows = store.finals(result.run);
  REQUIRE(rows.size() >= 12);
  const auto tied = std::ranges::count_if(rows, &FinalRow::tied_first);
  CHECK(tied >= static_cast<std::ptrdiff_t>(rows.size()) - 1);
  // A toy has 16 registers and no shared memory, whatever it is.
  std::vector<std::int64_t> first;
  for (const FinalRow& row : rows)
    if (row.tied_first) first.push_back(row.trial);
  CHECK(std::ranges::is_sorted(first));
  TrialFilter filter;
  filter.limit = static_cast<int>(first.size());
  const auto best = store.best(filter);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(best[i].id == first[i]);
}

TEST_CASE(
    "places: of those as good fewer registers, then less shared memory, then the earlier trial") {
  std::vector<TrialRow> trials(6);
  FinalRace race;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].id = 100 + static_cast<std::int64_t>(i);
    trials[i].number = static_cast<std::int64_t>(i) + 1;
    trials[i].registers = i == 5 ? 16 : i == 3 ? 64 : 96;
    trials[i].static_shared_bytes = 0;
    trials[i].dynamic_shared_bytes = i == 2 ? 1024 : 2048;
    race.ran.push_back(i);
    RaceStanding standing;
    standing.time_us = {20.0 - 0.01 * static_cast<double>(i), 19, 21};
    standing.blocks = 16;
    // The last one is slower for certain, although its median is the least.
    standing.to_winner = i == 4 ? Interval{1.01, 1.005, 1.02} : Interval{1, 0.99, 1.01};
    // A noisy one: not told apart, and yet nobody's first choice.
    if (i == 5) standing.to_winner = {1.04, 0.98, 1.1};
    race.race.result.standings.push_back(standing);
    race.race.timings.emplace_back().samples_us = {20};
  }
  race.race.result.standings[1].to_winner.high = HUGE_VAL;
  race.race.result.blocks = 16;
  const auto rows = final_places(trials, race);
  CHECK(ids(rows) == std::vector<std::int64_t>{103, 102, 100, 101, 105, 104});
  CHECK(rows[0].rank_us == doctest::Approx(19.95));
  CHECK(rows[3].rank_us == doctest::Approx(19.95));
  CHECK_FALSE(known_end(rows[3].ratio.high));
  CHECK(rows[4].tied_first);
  CHECK_FALSE(rows[5].tied_first);
  CHECK(rows[5].rank_us == doctest::Approx(19.96));  // not before those that it lost to
  CHECK(rows[5].time.us.value == doctest::Approx(19.96));
}

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
