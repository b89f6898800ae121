#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/community/replay/score.hpp"
#include "engine/measure/statistics.hpp"

namespace fa_tune::community {

// How near to the optimum, in percent of its time, and after how many evaluations is asked.
inline constexpr std::array kNearnessPercent = {10, 5, 2, 1};
inline constexpr std::array<std::size_t, 4> kFixedBudgets = {25, 50, 100, 200};

// Evaluations until a time within a given percentage of the optimum was known. Runs that did not
// come that near count as later than all others.
struct EvaluationsTo {
  std::optional<double> median;  // nothing where half of the runs or more did not come that near
  std::optional<double> low;     // of a 95% percentile bootstrap interval of the median
  std::optional<double> high;
  std::size_t reached = 0;  // runs that came that near
};

// What the runs of one tuner on one table came to.
struct ReplaySummary {
  std::string tuner;
  std::string table;
  std::size_t runs = 0;
  std::size_t budget_evaluations = 0;
  double budget_ms = 0;
  double optimum_ms = 0;
  Interval score;
  std::vector<double> scores;  // of each run
  // For each nearness, of each run; infinite where it did not come that near.
  std::array<std::vector<double>, kNearnessPercent.size()> evaluations_to;
  // For each nearness and each of kFixedBudgets, the share of runs that had come that near by then.
  std::array<std::array<double, kFixedBudgets.size()>, kNearnessPercent.size()> within{};
  // The optimum's time over the best one known after fixed_budgets; 0 where none was.
  std::array<Interval, kFixedBudgets.size()> after;
};

// `budget` in evaluations replaces the definition's. What a run did past the budget, and past the
// largest of the fixed ones, does not count.
ReplaySummary summarize(const Scorer& scorer, std::span<const Trace> runs,
                        std::optional<std::size_t> budget);

// The mean of the scores over tables, with an interval over the seeds.
Interval mean_score(std::span<const ReplaySummary> summaries);
// Of one table's runs or of several tables' together.
EvaluationsTo median_evaluations(std::vector<double> evaluations);

// The best so far at a moment (a time in ms), over runs: for a curve.
struct CurvePoint {
  double at_ms = 0;
  double baseline_ms = 0;
  double score = 0;    // the mean of P
  double found = 0;    // the share of runs that know a time
  double best_ms = 0;  // the median over those; 0 where there are none
  double low_ms = 0;   // the tenth and the ninetieth percentile
  double high_ms = 0;
};
std::vector<CurvePoint> best_so_far(const Scorer& scorer, std::span<const Trace> runs,
                                    double budget_ms, std::size_t points);

}  // namespace fa_tune::community
