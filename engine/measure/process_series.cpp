#include "engine/measure/process_series.hpp"

#include <algorithm>
#include <cmath>

#include "engine/measure/timing.hpp"

namespace fa_tune {

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

RaceRatio ProcessSeries::compare(std::size_t one, std::size_t other, double confidence) const {
  if (one == other) return {};
  std::vector<double> differences(of_[one].log_ratio);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= of_[other].log_ratio[i];
  const MeanEstimate log_ratio = mean_of_few(differences, confidence);
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
  for (const std::size_t i : ran) {
    const MeanEstimate log_us = mean_of_few(of_[i].log_us, 0.95);
    RaceStanding standing;
    standing.to_baseline = compare(i, first, each);
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
    result.standings[i].to_winner = compare(ran[i], ran[result.winner], each);
  return all;
}

}  // namespace fa_tune
