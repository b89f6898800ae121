// The finals as they are on a device that measures: gated alone, raced, placed, kept.

#include "engine/tuner/finals/finals.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/engine/tuner/finals/finals_fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::measure;
using namespace fa_tune::tuner;

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

TEST_CASE("what is launched programmatically has a figure without overlap beside the race's") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  const TuningTask task = toy_project(
      {}, {{"  block: [BLOCK]\n", "  block: [BLOCK]\n  programmatic: \"NAME == 'b'\"\n"}});
  const auto device = device_of(by_work);
  device->see_nothing();  // the toy waits for nobody
  device->noise = 0;
  QuietListener listener;
  EvolveOptions options = toy_options(40);
  const EvolveResult result =
      evolve(task, *device, *toy_compiler(), store, options, listener, std::atomic<bool>(false));
  int overlapping = 0;
  for (const FinalRow& row : store.finals(result.run)) {
    const auto detail = nlohmann::json::parse(row.detail_json);
    const Config config = Config::from_json(store.trial(row.trial)->config_json);
    const bool overlaps = to_text(*config.find("NAME")) == "b";
    REQUIRE(detail.contains(kOneByOneUs) == overlaps);
    if (!overlaps) continue;
    ++overlapping;
    CHECK(detail[kOneByOneUs]["median"].get<double>() ==
          doctest::Approx(row.time.us.value + MeasuringEmulator::kUsOfOverlap).epsilon(0.001));
  }
  CHECK(overlapping > 0);
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

TEST_CASE("what the database names for the shape comes to the finals however slow it is now") {
  const test::ScratchFolder folder(test::memory_folder());
  Store store(folder / "a.db", Store::Mode::write);
  run(store, *device_of(far_apart), 40);
  const auto key = report::key_of(*store.run(1));
  const TrialRow pick = report::held_pick(store, key)->trial;

  const auto device = device_of(
      [](const KernelImage& image) { return 1e7 / static_cast<double>(image.bytes.size()); });
  QuietListener listener;
  EvolveOptions options = toy_options(40);
  options.seed = 9;
  options.earlier = choose_prior_runs(store, toy(), device->info().name);
  REQUIRE(options.earlier.front().pick == pick.number);
  evolve(toy(), *device, *toy_compiler(), store, options, listener, std::atomic<bool>(false));
  const auto finalists = choose_finalists(toy(), store, 2);
  const auto again = std::ranges::find(finalists, pick.config_json, &TrialRow::config_json);
  REQUIRE(again != finalists.end());
  CHECK(again->screen_time->us.value > 1.5 * finalists.front().screen_time->us.value);
  CHECK(report::held_pick(store, key)->run.id == 2);  // the race says so
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

TEST_CASE("kernels that tie stand in the order of what they cost, then by their genes") {
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
  std::vector<std::vector<std::pair<std::string, Value>>> genes;
  for (const FinalRow& row : rows) {
    if (!row.tied_first) continue;
    first.push_back(row.trial);
    genes.push_back(Config::from_json(store.trial(row.trial)->config_json).settings());
  }
  CHECK(std::ranges::is_sorted(genes));
  TrialFilter filter;
  filter.limit = static_cast<int>(first.size());
  const auto best = store.best(filter);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(best[i].id == first[i]);
}

TEST_CASE("places: of those as good fewer registers, then less shared memory, then by genes") {
  std::vector<TrialRow> trials(6);
  FinalRace race;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].id = 100 + static_cast<std::int64_t>(i);
    trials[i].number = static_cast<std::int64_t>(i) + 1;
    // Another run may find them in another order.
    trials[i].config_json = R"({"A":)" + std::to_string(20 - i) + "}";
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
  CHECK(ids(rows) == std::vector<std::int64_t>{103, 102, 101, 100, 105, 104});
  CHECK(rows[0].rank_us == doctest::Approx(19.95));
  CHECK(rows[3].rank_us == doctest::Approx(19.95));
  CHECK_FALSE(known_end(rows[2].ratio.high));
  CHECK(rows[4].tied_first);
  CHECK_FALSE(rows[5].tied_first);
  CHECK(rows[5].rank_us == doctest::Approx(19.96));  // not before those that it lost to
  CHECK(rows[5].time.us.value == doctest::Approx(19.96));
}

}  // namespace fa_tune::test
