#include "engine/measure/race.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/engine/measure/synthetic_clock.hpp"

using namespace fa_tune;

namespace {

using test::kVices;
using test::race_on;
using test::Vice;

// bench_race asks a thousand.
constexpr int kRaces = 300;
// What a percentile of 99.9% needs, and no more, for hundreds of races a vice.
const RaceOptions kQuick{.resamples = 1000};

}  // namespace

TEST_CASE("race: the same kernel twice has a winner in at most 5% of seeds, whatever the clock") {
  for (const Vice& vice : kVices) {
    int winners = 0;
    for (int seed = 1; seed <= kRaces; ++seed)
      winners += race_on(vice, {20, 20}, seed, kQuick).tied_first().size() != 2;
    MESSAGE(vice.name << ": false winners " << winners << " of " << kRaces);
    CHECK(winners <= kRaces / 20);
  }
}

TEST_CASE("race: 2% are found in at least 95% of seeds, and never the wrong way round") {
  for (const Vice& vice : kVices) {
    int found = 0, wrong = 0;
    double blocks = 0;
    for (int seed = 1; seed <= kRaces; ++seed) {
      const RaceResult result = race_on(vice, {20, 19.6}, 7000 + seed, kQuick);
      found += result.standings[1].to_baseline.faster();
      wrong += result.standings[1].to_baseline.slower();
      blocks += result.blocks;
    }
    MESSAGE(vice.name << ": found " << found << " of " << kRaces << " in " << blocks / kRaces
                      << " blocks");
    CHECK(found >= kRaces * 95 / 100);
    CHECK(wrong == 0);
  }
}

TEST_CASE(
    "race: what is less than two loads of one kernel differ by ties, however sharp the clock") {
  const Vice sharp{.name = "sharp", .white = 0.0001};
  for (const double ratio : {0.9985, 1.0015}) {
    const RaceResult result = race_on(sharp, {20, 20 * ratio}, 5);
    CHECK(result.settled);
    CHECK(result.standings[1].to_baseline.ratio == doctest::Approx(ratio).epsilon(0.0001));
    CHECK(result.standings[1].to_baseline.tied());
    CHECK(result.tied_first().size() == 2);
  }
  CHECK(race_on(sharp, {20, 20 * 0.996}, 5).standings[1].to_baseline.faster());
  CHECK(race_on(sharp, {20, 20 * 1.004}, 5).standings[1].to_baseline.slower());
}

TEST_CASE("race: of several, the slow drop out and those that tie stay") {
  int right = 0;
  constexpr int seeds = 100;
  for (int seed = 1; seed <= seeds; ++seed) {
    const RaceResult result = race_on(kVices[1], {20, 18, 21, 18, 25}, seed);
    const auto first = result.tied_first();
    right += first == std::vector<std::size_t>{1, 3};
    CHECK(result.standings[4].eliminated);
    CHECK(result.standings[4].blocks < result.standings[1].blocks + 1);
    CHECK_FALSE(result.standings[0].eliminated);
    CHECK(result.standings[1].to_baseline.ratio == doctest::Approx(0.9).epsilon(0.01));
  }
  CHECK(right >= seeds * 95 / 100);
}

TEST_CASE("race: blocks in which the baseline moved are void; with none good nothing is known") {
  int taken = 0;
  const auto doubling = [&](std::size_t, int) -> std::expected<double, Fault> {
    return taken++ % 3 == 2 ? 40.0 : 20.0;
  };
  const RaceResult result = *race(2, doubling, {});
  CHECK(result.blocks == 256);
  CHECK(result.void_blocks == 256);
  CHECK(result.good == std::vector<bool>(256, false));
  CHECK(result.standings[1].time_us.samples == 0);
  CHECK_FALSE(result.settled);
  CHECK(result.standings[1].to_baseline.tied());
  CHECK(result.standings[1].to_baseline.low == 0);
  CHECK(std::isinf(result.standings[1].to_baseline.high));
}

TEST_CASE("race: a clock that never keeps still has good blocks, and tells what is plain") {
  // As a GPU at its power limit: from launch to launch some percent, either way.
  const Vice restless{.name = "restless", .drift = 0.03, .memory = 0.7};
  const RaceOptions of_a_process = ProcessSeries::options(1);
  int winners = 0, found = 0, enough = 0;
  for (int seed = 1; seed <= kRaces; ++seed) {
    winners += test::series_on(restless, {20, 20}, seed).tied_first().size() != 2;
    found += test::series_on(restless, {20, 18}, 7000 + seed).standings[1].to_baseline.faster();
    const RaceResult one = race_on(restless, {20, 20}, seed, of_a_process);
    enough += one.blocks - one.void_blocks >= of_a_process.fewest_blocks;
  }
  CHECK(winners <= kRaces / 20);
  CHECK(found >= kRaces * 95 / 100);
  CHECK(enough >= kRaces * 95 / 100);
}

TEST_CASE("race: one time of throttling among still blocks stays void") {
  int taken = 0;
  const auto clock = [&](std::size_t, int block) -> std::expected<double, Fault> {
    return block == 3 && taken++ % 3 == 2 ? 30.0 : 20.0;
  };
  const RaceResult result = *race(2, clock, {});
  CHECK(result.void_blocks == 1);
  CHECK_FALSE(result.good[3]);
}

TEST_CASE("race: ends early where all is clear, is the same for a seed, and passes a fault on") {
  const RaceResult clear = race_on(kVices[0], {20, 30}, 1);
  CHECK(clear.settled);
  CHECK(clear.blocks == 16);
  CHECK(clear.winner == 0);
  CHECK(clear.standings[1].to_baseline.ratio == doctest::Approx(1.5).epsilon(0.01));
  CHECK(clear.standings[0].time_us.median == doctest::Approx(20).epsilon(0.01));
  CHECK(clear.standings[0].time_us.samples == 32);
  CHECK(clear.standings[1].time_us.median == doctest::Approx(30).epsilon(0.01));
  CHECK(clear.standings[1].time_us.samples == 16);
  CHECK(clear.good == std::vector<bool>(16, true));

  const RaceResult again = race_on(kVices[0], {20, 30}, 1);
  CHECK(again.standings[1].to_baseline.low == clear.standings[1].to_baseline.low);
  CHECK(race_on(kVices[0], {20, 30}, 2).standings[1].to_baseline.low !=
        clear.standings[1].to_baseline.low);

  const auto failing = [](std::size_t contestant, int) -> std::expected<double, Fault> {
    if (contestant == 1) return std::unexpected(Fault{FaultKind::trap, "planted"});
    return 1.0;
  };
  CHECK(race(2, failing, {}).error().message == "planted");
}
