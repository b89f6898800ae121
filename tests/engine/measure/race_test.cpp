#include "engine/measure/race.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "engine/base/random.hpp"

using namespace fa_tune;

namespace {

// A machine whose kernels' true times are known and whose clock has one of the vices of real ones.
struct Vice {
  std::string name;
  double white = 0.003;    // standard deviation of a sample, relative
  double drift = 0;        // of the AR(1) part
  double memory = 0;       // its coefficient from sample to sample
  double heavy = 0;        // how often a sample takes up to half as long again
  int step_every = 0;      // samples between steps of the clock, up to 5% either way
  int throttle_every = 0;  // samples between times of throttling, a tenth as long, 1.5 times slower
};

const Vice kVices[] = {
    {.name = "white"},
    {.name = "AR(1)", .drift = 0.004, .memory = 0.95},
    {.name = "slow drift", .drift = 0.001, .memory = 0.999},
    {.name = "heavy tail", .heavy = 0.1},
    {.name = "steps", .step_every = 37},
    {.name = "throttle", .throttle_every = 80},
    {.name = "all",
     .drift = 0.004,
     .memory = 0.95,
     .heavy = 0.05,
     .step_every = 90,
     .throttle_every = 150},
};

class SyntheticClock {
 public:
  SyntheticClock(const Vice& vice, std::vector<double> truth, std::uint64_t seed)
      : vice_(vice), truth_(std::move(truth)), random_(seed) {
    phase_ = static_cast<int>(random_.below(1000));
  }

  double operator()(std::size_t contestant) {
    const int now = phase_ + taken_++;
    slow_ = vice_.memory * slow_ + vice_.drift * random_.normal();
    if (vice_.step_every > 0 && now % vice_.step_every == 0) step_ = 0.1 * random_.uniform() - 0.05;
    double factor = 1 + slow_ + step_ + vice_.white * random_.normal();
    if (random_.uniform() < vice_.heavy) factor *= 1 + 0.5 * random_.uniform();
    if (vice_.throttle_every > 0 && now % vice_.throttle_every < vice_.throttle_every / 10)
      factor *= 1.5;
    return truth_.at(contestant) * factor;
  }

 private:
  const Vice& vice_;
  std::vector<double> truth_;
  Random random_;
  int phase_ = 0;
  int taken_ = 0;
  double slow_ = 0;
  double step_ = 0;
};

RaceResult run(const Vice& vice, const std::vector<double>& truth, std::uint64_t seed,
               RaceOptions options = {}) {
  SyntheticClock clock(vice, truth, seed);
  options.seed = seed;
  return *race(
      truth.size(), [&](std::size_t i) -> std::expected<double, Fault> { return clock(i); },
      options);
}

constexpr int kSeeds = 1000;
// What a percentile of 99.9% needs, and no more, for 1,000 races a vice.
const RaceOptions kQuick{.resamples = 1000};

}  // namespace

TEST_CASE(
    "race: the same kernel twice has a winner in at most 5% of 1,000 seeds, whatever the clock") {
  for (const Vice& vice : kVices) {
    int winners = 0;
    for (int seed = 1; seed <= kSeeds; ++seed)
      winners += run(vice, {20, 20}, seed, kQuick).tied_first().size() != 2;
    MESSAGE(vice.name << ": false winners " << winners << " of " << kSeeds);
    CHECK(winners <= kSeeds / 20);
  }
}

TEST_CASE("race: 2% are found in at least 95% of seeds, and never the wrong way round") {
  for (const Vice& vice : kVices) {
    int found = 0, wrong = 0;
    double blocks = 0;
    constexpr int seeds = 200;
    for (int seed = 1; seed <= seeds; ++seed) {
      const RaceResult result = run(vice, {20, 19.6}, 7000 + seed, kQuick);
      found += result.standings[1].to_baseline.faster();
      wrong += result.standings[1].to_baseline.slower();
      blocks += result.blocks;
    }
    MESSAGE(vice.name << ": found " << found << " of " << seeds << " in " << blocks / seeds
                      << " blocks");
    CHECK(found >= seeds * 95 / 100);
    CHECK(wrong == 0);
  }
}

TEST_CASE("race: of several, the slow drop out and those that tie stay") {
  int right = 0;
  constexpr int seeds = 100;
  for (int seed = 1; seed <= seeds; ++seed) {
    const RaceResult result = run(kVices[1], {20, 18, 21, 18, 25}, seed);
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
  const auto doubling = [&](std::size_t) -> std::expected<double, Fault> {
    return taken++ % 3 == 2 ? 40.0 : 20.0;
  };
  const RaceResult result = *race(2, doubling, {});
  CHECK(result.blocks == 256);
  CHECK(result.void_blocks == 256);
  CHECK_FALSE(result.settled);
  CHECK(result.standings[1].to_baseline.tied());
  CHECK(result.standings[1].to_baseline.low == 0);
  CHECK(std::isinf(result.standings[1].to_baseline.high));
}

TEST_CASE("race: ends early where all is clear, is the same for a seed, and passes a fault on") {
  const RaceResult clear = run(kVices[0], {20, 30}, 1);
  CHECK(clear.settled);
  CHECK(clear.blocks == 16);
  CHECK(clear.winner == 0);
  CHECK(clear.standings[1].to_baseline.ratio == doctest::Approx(1.5).epsilon(0.01));

  const RaceResult again = run(kVices[0], {20, 30}, 1);
  CHECK(again.standings[1].to_baseline.low == clear.standings[1].to_baseline.low);
  CHECK(run(kVices[0], {20, 30}, 2).standings[1].to_baseline.low !=
        clear.standings[1].to_baseline.low);

  const auto failing = [](std::size_t contestant) -> std::expected<double, Fault> {
    if (contestant == 1) return std::unexpected(Fault{FaultKind::trap, "planted"});
    return 1.0;
  };
  CHECK(race(2, failing, {}).error().message == "planted");
}
