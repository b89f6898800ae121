#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/measure/process_series.hpp"
#include "engine/measure/race.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

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

inline const Vice kVices[] = {
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

  // The median of three samples of one moment, as race_launches() takes a block's time.
  double operator()(std::size_t contestant) {
    const int now = phase_ + taken_++;
    slow_ = vice_.memory * slow_ + vice_.drift * random_.normal();
    if (vice_.step_every > 0 && now % vice_.step_every == 0) step_ = 0.1 * random_.uniform() - 0.05;
    std::array<double, 3> samples;
    for (double& sample : samples) {
      sample = 1 + slow_ + step_ + vice_.white * random_.normal();
      if (random_.uniform() < vice_.heavy) sample *= 1 + 0.5 * random_.uniform();
    }
    double factor = measure::median(samples);
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

// A race of kernels of these true times, in one process of such a machine.
inline measure::LaunchRace race_on(const Vice& vice, const std::vector<double>& truth,
                                   std::uint64_t seed) {
  SyntheticClock clock(vice, truth, seed);
  std::vector<std::vector<std::pair<int, double>>> taken(truth.size());  // block and time
  measure::LaunchRace raced{
      *measure::race(truth.size(),
                     [&](std::size_t i, int block) -> std::expected<double, device::Fault> {
                       taken[i].emplace_back(block, clock(i));
                       return taken[i].back().second;
                     },
                     {.seed = seed}),
      false, std::vector<device::Timing>(truth.size())};
  for (std::size_t i = 0; i < truth.size(); ++i)
    for (const auto& [block, us] : taken[i])
      if (raced.result.good[static_cast<std::size_t>(block)])
        raced.timings[i].samples_us.push_back(us);
  return raced;
}

// What places in memory make of a kernel's time in a process: the standard deviation, relative. On
// an H100 that of a pair's ratio was 0.1%, 0.2% in one of ten (tools/bench/results/aa, repeat), and
// up to 0.6% among finalists (results/mission), of which 0.4% a kernel would make 0.57%.
inline constexpr double kPlaces = 0.005;

// The same kernels, each race in a process of its own where they lie at other places.
inline measure::RaceResult series_on(const Vice& vice, const std::vector<double>& truth,
                                     std::uint64_t seed, double places = kPlaces) {
  Random random(derive_seed(seed, "places"));
  measure::ProcessSeries series(truth.size());
  std::vector<std::size_t> all(truth.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (int i = 0; i < measure::ProcessSeries::kProcesses; ++i) {
    std::vector<double> placed = truth;
    for (double& us : placed) us *= 1 + places * random.normal();
    series.add(all,
               race_on(vice, placed, derive_seed(seed, "process", static_cast<std::uint64_t>(i))));
  }
  return series.result(all).result;
}

}  // namespace fa_tune::test
