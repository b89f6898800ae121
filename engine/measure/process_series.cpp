#include "engine/measure/process_series.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/measure/timing.hpp"

namespace fa_tune {
namespace {

std::vector<double> less(std::vector<double> values, const std::vector<double>& others) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= others[i];
  return values;
}

// Sum of squares about the mean.
double spread(const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(1, values.size()));
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

}  // namespace

RaceOptions ProcessSeries::options(std::uint64_t seed) {
  return {.seed = seed, .fewest_blocks = 8, .most_blocks = 12};
}

void ProcessSeries::add(const std::vector<std::size_t>& ran, const LaunchRace& raced) {
  const RaceResult& race = raced.result;
  blocks_ += race.blocks;
  void_blocks_ += race.void_blocks;
  if (race.blocks - race.void_blocks < options(0).fewest_blocks) return;
  ++processes_;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    Figures& figures = of_[ran[i]];
    figures.log_ratio.push_back(std::log(race.standings[i].to_baseline.ratio));
    figures.log_us.push_back(std::log(race.standings[i].time_us.median));
    figures.blocks += race.standings[i].blocks;
    append(figures.timing, raced.timings[i]);
  }
}

ProcessSeries::By ProcessSeries::steadier(const std::vector<std::size_t>& ran) const {
  double of_races = 0, of_times = 0;
  for (const std::size_t i : ran) {
    of_races += spread(less(of_[i].log_ratio, of_[ran.front()].log_ratio));
    of_times += spread(less(of_[i].log_us, of_[ran.front()].log_us));
  }
  // Half the deviation, not a little less of it: who takes the better looking of two equals fools
  // himself.
  return 4 * of_times < of_races ? By::time : By::race;
}

RaceRatio ProcessSeries::compare(std::size_t one, std::size_t other, By by,
                                 double confidence) const {
  if (one == other) return {};
  const std::vector<double> times = less(of_[one].log_us, of_[other].log_us);
  const std::vector<double> raced = less(of_[one].log_ratio, of_[other].log_ratio);
  const double least = std::log1p(kLeastDifference);
  // What times say beyond the race: the clock that each made for itself.
  const MeanEstimate own_clock = mean_of_few(less(times, raced), confidence);
  const bool of_its_own = own_clock.low > least || own_clock.high < -least;
  const bool by_time = by == By::time || of_its_own;
  const MeanEstimate log_ratio = mean_of_few(by_time ? times : raced, confidence);
  return {std::exp(log_ratio.mean), std::exp(log_ratio.low), std::exp(log_ratio.high)};
}

LaunchRace ProcessSeries::result(const std::vector<std::size_t>& ran, double confidence) const {
  // Each comparison has its share of what is left to 1.
  const double each =
      1 - (1 - confidence) / static_cast<double>(std::max<std::size_t>(2, ran.size()) - 1);
  LaunchRace all;
  RaceResult& result = all.result;
  result.blocks = blocks_;
  result.void_blocks = void_blocks_;
  const std::size_t first = ran.front();
  const By by = steadier(ran);
  for (const std::size_t i : ran) {
    const MeanEstimate log_us = mean_of_few(of_[i].log_us, 0.95);
    RaceStanding standing;
    standing.to_baseline = compare(i, first, by, each);
    standing.time_us = {std::exp(log_us.mean), std::exp(log_us.low), std::exp(log_us.high),
                        static_cast<int>(of_[i].timing.samples_us.size())};
    standing.blocks = of_[i].blocks;
    result.standings.push_back(standing);
    all.timings.push_back(of_[i].timing);
  }
  const auto ratio = [](const RaceStanding& standing) { return standing.to_baseline.ratio; };
  const auto winner = std::ranges::min_element(result.standings, {}, ratio);
  result.winner = static_cast<std::size_t>(winner - result.standings.begin());
  for (std::size_t i = 0; i < ran.size(); ++i)
    result.standings[i].to_winner = compare(ran[i], ran[result.winner], by, each);
  return all;
}

}  // namespace fa_tune
