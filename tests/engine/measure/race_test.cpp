#include "engine/measure/race.hpp"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "tests/engine/measure/synthetic_clock.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::measure;

TEST_CASE("race: a process' ratios are about the true ones, whatever the clock") {
  for (const test::Vice& vice : test::kVices) {
    constexpr int seeds = 300;
    double sum = 0;
    int wide = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const BlockRace raced = test::race_on(vice, {20, 18, 21, 18, 25}, seed).result;
      CHECK(raced.ratios[0] == 1);
      sum += raced.ratios[1] / 0.9;
      wide += std::abs(raced.ratios[4] / 1.25 - 1) > 0.02;
    }
    CAPTURE(vice.name);
    CHECK(sum / seeds == doctest::Approx(1).epsilon(0.002));
    CHECK(wide <= seeds / 10);
  }
}

TEST_CASE(
    "race: it is over with eight good blocks, is the same for a seed, and passes a fault on") {
  const LaunchRace clear = test::race_on(test::kVices[0], {20, 30}, 1);
  CHECK(clear.result.good == std::vector<bool>(8, true));
  CHECK(clear.result.ratios[1] == doctest::Approx(1.5).epsilon(0.01));
  CHECK(clear.timings[0].samples_us.size() == 16);
  CHECK(clear.timings[1].samples_us.size() == 8);
  CHECK(test::race_on(test::kVices[0], {20, 30}, 1).result.ratios == clear.result.ratios);
  CHECK(test::race_on(test::kVices[0], {20, 30}, 2).result.ratios != clear.result.ratios);

  const auto failing = [](std::size_t contestant, int) -> std::expected<double, Fault> {
    if (contestant == 1) return std::unexpected(Fault{FaultKind::trap, "planted"});
    return 1.0;
  };
  CHECK(race(2, failing).error().message == "planted");
}

TEST_CASE(
    "race: every block has the baseline first and last, and the others in orders of its own") {
  std::vector<std::vector<std::size_t>> blocks;
  const auto clock = [&](std::size_t contestant, int block) -> std::expected<double, Fault> {
    blocks.resize(static_cast<std::size_t>(block) + 1);
    blocks.back().push_back(contestant);
    return 10;
  };
  CHECK(race(5, clock)->blocks() == 8);
  int as_numbered = 0;
  for (std::vector<std::size_t> block : blocks) {
    CHECK(block.front() == 0);
    CHECK(block.back() == 0);
    as_numbered += std::ranges::is_sorted(block.begin(), block.end() - 1);
    std::ranges::sort(block);
    CHECK(block == std::vector<std::size_t>{0, 0, 1, 2, 3, 4});
  }
  CHECK(as_numbered < 4);
}

TEST_CASE("race: blocks in which the baseline moved are void; with none good nothing is known") {
  int taken = 0;
  const auto doubling = [&](std::size_t, int) -> std::expected<double, Fault> {
    return taken++ % 3 == 2 ? 40.0 : 20.0;
  };
  const BlockRace raced = *race(2, doubling);
  CHECK(raced.good == std::vector<bool>(12, false));
  CHECK(std::isnan(raced.ratios[1]));
}

TEST_CASE(
    "race: one time of throttling among still blocks stays void, and another takes its place") {
  int taken = 0;
  const auto clock = [&](std::size_t, int block) -> std::expected<double, Fault> {
    return block == 3 && taken++ % 3 == 2 ? 30.0 : 20.0;
  };
  const BlockRace raced = *race(2, clock);
  CHECK(raced.blocks() == 9);
  CHECK(raced.good_blocks() == 8);
  CHECK_FALSE(raced.good[3]);
}

TEST_CASE("race: where the clock never keeps still, enough blocks are good all the same") {
  const test::Vice restless{.name = "restless", .drift = 0.03, .memory = 0.7};
  int enough = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    enough += test::race_on(restless, {20, 20}, seed).result.good_blocks() >= 8;
  CHECK(enough >= 285);
}

}  // namespace fa_tune::test
