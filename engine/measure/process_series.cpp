#include "engine/measure/process_series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/measure/timing.hpp"
#include "engine/util/distributions.hpp"

namespace fa_tune::measure {
namespace {

// Of several contestants (rows) the logarithms of their figures in the same processes (columns).
class Paired {
 public:
  explicit Paired(std::vector<std::vector<double>> rows)
      : rows_(std::move(rows)), processes_(static_cast<double>(rows_.front().size())) {
    const double others = static_cast<double>(rows_.size()) - 1;
    freedom_ = others * (processes_ - 1);
    if (freedom_ < 1) return;
    double squares = 0;
    for (std::size_t process = 0; process < rows_.front().size(); ++process) {
      double of_process = 0;
      for (const auto& row : rows_) of_process += row[process] - mean(row);
      of_process /= others + 1;
      for (const auto& row : rows_) squares += square(row[process] - mean(row) - of_process);
    }
    variance_ = 2 * squares / freedom_;
  }

  double variance() const { return variance_; }  // of a pair's difference, that of all together

  // By how much the first is more; `wrong`: how often the interval may be.
  Interval difference(std::size_t one, std::size_t other, double wrong) const {
    std::vector<double> differences = rows_[one];
    for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= rows_[other][i];
    const double middle = mean(differences);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (freedom_ < 1) return {middle, -infinity, infinity};
    double own = 0;
    for (const double each : differences) own += square(each - middle) / (processes_ - 1);
    const double half = student_t(static_cast<int>(freedom_), 1 - wrong) *
                        std::sqrt(std::max(own, variance_) / processes_);
    return {middle, middle - half, middle + half};
  }

 private:
  static double square(double x) { return x * x; }
  static double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  std::vector<std::vector<double>> rows_;
  double processes_;
  double freedom_ = 0;
  double variance_ = 0;
};

// What a series compares its contestants by: what their races compared, and, if that were cycles,
// their times. `wrong` as above.
class Pairs {
 public:
  using Rows = std::vector<std::vector<double>>;
  explicit Pairs(const Rows& raced) : raced_(raced) {}
  Pairs(const Rows& cycles, const Rows& times)
      : raced_(cycles), times_(times), own_clock_(less(times, cycles)) {
    // Half the deviation: between two that are about equal the choice is worth nothing.
    times_are_steadier_ = 4 * times_->variance() < raced_.variance();
  }

  Interval ratio(std::size_t one, std::size_t other, double wrong) const {
    if (one == other) return {1, 1, 1};
    const Interval log_ratio = difference(one, other, wrong);
    return {std::exp(log_ratio.value), std::exp(log_ratio.low), std::exp(log_ratio.high)};
  }

 private:
  static Rows less(Rows values, const Rows& others) {
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < values[i].size(); ++j) values[i][j] -= others[i][j];
    return values;
  }

  Interval difference(std::size_t one, std::size_t other, double wrong) const {
    if (!times_) return raced_.difference(one, other, wrong);
    const double least = std::log1p(kLeastDifference);
    // What times say beyond the race: the clock that each made for itself.
    const Interval own_clock = own_clock_->difference(one, other, wrong / 2);
    const bool of_its_own = own_clock.low > least || own_clock.high < -least;
    return (times_are_steadier_ || of_its_own ? *times_ : raced_).difference(one, other, wrong / 2);
  }

  Paired raced_;
  std::optional<Paired> times_, own_clock_;
  bool times_are_steadier_ = false;
};

}  // namespace

std::string verdict_text(const Interval& ratio) {
  if (is_tied(ratio)) return "tie";
  return is_faster(ratio) ? "faster" : "slower";
}

std::vector<std::size_t> RaceResult::tied_first() const {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (!is_slower(standings[i].to_winner)) first.push_back(i);
  return first;
}

void ProcessSeries::add(const std::vector<std::size_t>& ran, const LaunchRace& raced) {
  const int good = raced.result.good_blocks();
  blocks_ += raced.result.blocks();
  void_blocks_ += raced.result.blocks() - good;
  if (good < RaceOptions{}.good_blocks) return;
  ++processes_;
  by_cycles_ = by_cycles_ || raced.by_cycles;
  for (std::size_t i = 0; i < ran.size(); ++i) {
    Figures& figures = of_[ran[i]];
    figures.log_ratio.push_back(std::log(raced.result.ratios[i]));
    figures.log_us.push_back(std::log(median(raced.timings[i].samples_us)));
    figures.blocks += good;
    append(figures.timing, raced.timings[i]);
  }
}

SeriesRace ProcessSeries::result(const std::vector<std::size_t>& ran, double confidence) const {
  const auto others = static_cast<double>(std::max<std::size_t>(2, ran.size()) - 1);
  const double wrong_to_baseline = (1 - confidence) / others;
  const double wrong_of_pairs = (1 - confidence) / (others * (others + 1) / 2);
  SeriesRace all;
  RaceResult& result = all.result;
  result.blocks = blocks_;
  result.void_blocks = void_blocks_;
  Pairs::Rows log_ratios, log_times;
  for (const std::size_t i : ran) {
    log_ratios.push_back(of_[i].log_ratio);
    log_times.push_back(of_[i].log_us);
  }
  const Pairs pairs = by_cycles_ ? Pairs(log_ratios, log_times) : Pairs(log_ratios);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    const Figures& figures = of_[ran[i]];
    const Interval log_us = mean_of_few(figures.log_us, kConfidence);
    RaceStanding standing;
    standing.to_baseline = pairs.ratio(i, 0, wrong_to_baseline);
    standing.time_us = {std::exp(log_us.value), std::exp(log_us.low), std::exp(log_us.high)};
    standing.blocks = figures.blocks;
    result.standings.push_back(standing);
    all.timings.push_back(figures.timing);
  }
  const auto ratio = [](const RaceStanding& standing) { return standing.to_baseline.value; };
  const auto winner = std::ranges::min_element(result.standings, {}, ratio);
  result.winner = static_cast<std::size_t>(winner - result.standings.begin());
  for (std::size_t i = 0; i < ran.size(); ++i)
    result.standings[i].to_winner = pairs.ratio(i, result.winner, wrong_of_pairs);
  return all;
}

}  // namespace fa_tune::measure
