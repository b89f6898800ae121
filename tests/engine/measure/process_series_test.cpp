#include "engine/measure/process_series.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/engine/measure/synthetic_clock.hpp"

using namespace fa_tune;

namespace {

constexpr int kSeeds = 300;

// A race of a process in which nothing was noisy: these ratios, of a baseline of 10 us.
LaunchRace clean_race(const std::vector<double>& ratios) {
  LaunchRace raced;
  raced.result.blocks = 8;
  for (const double ratio : ratios) {
    RaceStanding standing;
    standing.to_baseline = {ratio, ratio, ratio};
    standing.time_us = {10 * ratio, 10 * ratio, 10 * ratio, 24};
    standing.blocks = 8;
    raced.result.standings.push_back(standing);
    Timing timing;
    timing.samples_us.assign(24, 10 * ratio);
    raced.timings.push_back(timing);
  }
  return raced;
}

// Six processes of two contestants: what the second is to the first in cycles, and in time.
RaceRatio compared(const std::vector<double>& cycles, const std::vector<double>& times) {
  ProcessSeries series(2);
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    LaunchRace raced = clean_race({1, cycles[i]});
    raced.result.standings[1].time_us.median = 10 * times[i];
    series.add({0, 1}, raced);
  }
  return series.result({0, 1}).result.standings[1].to_baseline;
}

}  // namespace

TEST_CASE("a kernel that makes its own clock slower is slower, though it takes as many cycles") {
  const RaceRatio ratio =
      compared({1.001, 0.999, 1, 1, 1.001, 0.999}, {1.07, 1.06, 1.08, 1.07, 1.065, 1.075});
  CHECK(ratio.slower());
  CHECK(ratio.ratio == doctest::Approx(1.07).epsilon(0.002));
}

TEST_CASE("where times vary less than cycles, times tell two kernels apart") {
  const RaceRatio ratio =
      compared({1.00, 1.10, 0.99, 1.11, 1.02, 1.07}, {1.05, 1.051, 1.049, 1.05, 1.05, 1.05});
  CHECK(ratio.slower());
  CHECK(ratio.ratio == doctest::Approx(1.05).epsilon(0.001));
}

TEST_CASE("a clock that wanders under both hides nothing that cycles tell") {
  const RaceRatio ratio =
      compared({1.02, 1.021, 1.019, 1.02, 1.02, 1.02}, {1.06, 0.97, 1.05, 0.98, 1.07, 0.99});
  CHECK(ratio.slower());
  CHECK(ratio.ratio == doctest::Approx(1.02).epsilon(0.001));
}

TEST_CASE("places that a process gives make no winner in a series, though they do in one race") {
  const test::Vice white = test::kVices[0];
  int in_one = 0;
  int in_series = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Random places(seed);
    in_one +=
        !test::race_on(white, test::placed({20, 20}, places), seed).standings[1].to_baseline.tied();
    in_series += !test::series_on(white, {20, 20}, seed).standings[1].to_baseline.tied();
  }
  CHECK(in_one > kSeeds / 3);
  CHECK(in_series <= kSeeds / 20);
}

TEST_CASE(
    "a series finds 2% behind places in at least 95% of seeds, and never the wrong way round") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RaceResult result = test::series_on(test::kVices[0], {20, 19.6}, seed);
    found += result.standings[1].to_baseline.faster();
    CHECK_FALSE(result.standings[1].to_baseline.slower());
  }
  CHECK(found >= 0.95 * kSeeds);
}

TEST_CASE("a series' figures are those of its processes") {
  ProcessSeries series(3);
  series.add({0, 1, 2}, clean_race({1, 1.02, 0.95}));
  series.add({0, 1, 2}, clean_race({1, 1.04, 0.95}));
  CHECK(series.processes() == 2);
  const LaunchRace all = series.result({0, 1, 2});
  CHECK(all.result.winner == 2);
  const RaceStanding& second = all.result.standings[1];
  CHECK(second.to_baseline.ratio == doctest::Approx(std::sqrt(1.02 * 1.04)));
  CHECK(second.to_winner.ratio == doctest::Approx(std::sqrt(1.02 * 1.04) / 0.95));
  CHECK(second.time_us.median == doctest::Approx(10 * std::sqrt(1.02 * 1.04)));
  CHECK(second.time_us.low < 10.2);
  CHECK(second.blocks == 16);
  CHECK(all.timings[1].samples_us.size() == 48);
  // One that left is no longer among those that are compared; the numbers stay.
  const LaunchRace two = series.result({2, 1});
  CHECK(two.result.winner == 0);
  CHECK(two.result.standings[1].to_baseline.ratio == doctest::Approx(second.to_winner.ratio));
  CHECK(two.result.standings[1].to_baseline.low > second.to_winner.low);
}

TEST_CASE("of one process a series knows the figures and nothing of their spread") {
  ProcessSeries series(2);
  series.add({0, 1}, clean_race({1, 1.5}));
  const RaceRatio ratio = series.result({0, 1}).result.standings[1].to_baseline;
  CHECK(ratio.ratio == doctest::Approx(1.5));
  CHECK(ratio.low == 0);
  CHECK(ratio.high == std::numeric_limits<double>::infinity());
  CHECK(ratio.tied());
}

TEST_CASE("a process without enough good blocks does not count") {
  ProcessSeries series(2);
  LaunchRace raced = clean_race({1, 1.5});
  raced.result.blocks = 12;
  raced.result.void_blocks = 5;
  series.add({0, 1}, raced);
  CHECK(series.processes() == 0);
}
