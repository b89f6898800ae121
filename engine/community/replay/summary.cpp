#include "engine/community/replay/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fa_tune::community {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Stands for 'never' where numbers are averaged, and is larger than any count of evaluations.
constexpr double kNever = 1e18;

double best_after(const Trace& trace, std::size_t evaluations) {
  double best = kInfinite;
  for (const Step& step : trace)
    if (step.evaluation <= evaluations && step.time_ms) best = std::min(best, *step.time_ms);
  return best;
}

double best_at(const Trace& trace, double at_ms) {
  double best = kInfinite;
  for (const Step& step : trace)
    if (step.elapsed_ms <= at_ms && step.time_ms) best = std::min(best, *step.time_ms);
  return best;
}

double first_within(const Trace& trace, double time_ms, std::size_t most) {
  for (const Step& step : trace)
    if (step.evaluation <= most && step.time_ms && *step.time_ms <= time_ms)
      return static_cast<double>(step.evaluation);
  return kInfinite;
}

double share_reached(const std::vector<double>& evaluations, std::size_t most) {
  const auto reached = std::ranges::count_if(
      evaluations, [&](double count) { return count <= static_cast<double>(most); });
  return static_cast<double>(reached) / static_cast<double>(evaluations.size());
}

std::optional<double> if_reached(double evaluations) {
  return evaluations < kNever / 4 ? std::optional(evaluations) : std::nullopt;
}

double percentile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::round(q * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

ReplaySummary summarize(const Scorer& scorer, std::span<const Trace> runs,
                        std::optional<std::size_t> budget) {
  ReplaySummary summary;
  summary.runs = runs.size();
  summary.budget_evaluations = budget.value_or(scorer.budget_evaluations());
  summary.budget_ms = scorer.budget_ms(summary.budget_evaluations);
  summary.optimum_ms = scorer.optimum_ms();
  for (const Trace& trace : runs) summary.scores.push_back(scorer.score(trace, summary.budget_ms));
  summary.score = measure::estimate_mean(summary.scores);
  const std::size_t most = std::max(summary.budget_evaluations, kFixedBudgets.back());
  for (std::size_t i = 0; i < kNearnessPercent.size(); ++i) {
    const double time = scorer.optimum_ms() * (1 + kNearnessPercent[i] / 100.0);
    for (const Trace& trace : runs)
      summary.evaluations_to[i].push_back(first_within(trace, time, most));
    for (std::size_t j = 0; j < kFixedBudgets.size(); ++j)
      summary.within[i][j] = share_reached(summary.evaluations_to[i], kFixedBudgets[j]);
  }
  for (std::size_t i = 0; i < kFixedBudgets.size(); ++i) {
    std::vector<double> shares;
    for (const Trace& trace : runs)
      shares.push_back(scorer.optimum_ms() / best_after(trace, kFixedBudgets[i]));
    summary.after[i] = measure::estimate_mean(shares);
  }
  return summary;
}

// Resamples within each table, since which tables there are is no matter of chance. Tables are
// independent, so the half widths add as squares.
Interval mean_score(std::span<const ReplaySummary> summaries) {
  Interval result;
  double below = 0;
  double above = 0;
  for (const ReplaySummary& summary : summaries) {
    result.value += summary.score.value;
    below += std::pow(summary.score.value - summary.score.low, 2);
    above += std::pow(summary.score.high - summary.score.value, 2);
  }
  const auto tables = static_cast<double>(summaries.size());
  result.value /= tables;
  result.low = result.value - std::sqrt(below) / tables;
  result.high = result.value + std::sqrt(above) / tables;
  return result;
}

EvaluationsTo median_evaluations(std::vector<double> evaluations) {
  EvaluationsTo result;
  for (double& value : evaluations) {
    if (std::isfinite(value))
      ++result.reached;
    else
      value = kNever;
  }
  const Interval middle = measure::estimate(evaluations);
  result.median = if_reached(middle.value);
  result.low = if_reached(middle.low);
  result.high = if_reached(middle.high);
  return result;
}

std::vector<CurvePoint> best_so_far(const Scorer& scorer, std::span<const Trace> runs,
                                    double budget_ms, std::size_t points) {
  std::vector<CurvePoint> curve;
  for (std::size_t i = 1; i <= points; ++i) {
    CurvePoint point;
    point.at_ms = budget_ms * static_cast<double>(i) / static_cast<double>(points);
    point.baseline_ms = scorer.baseline_ms(point.at_ms);
    std::vector<double> known;
    for (const Trace& trace : runs) {
      const double best = best_at(trace, point.at_ms);
      if (!std::isfinite(best)) continue;
      known.push_back(best);
      point.score += scorer.gain(best, point.baseline_ms) / static_cast<double>(runs.size());
    }
    std::ranges::sort(known);
    point.found = static_cast<double>(known.size()) / static_cast<double>(runs.size());
    if (!known.empty()) {
      point.best_ms = measure::median(known);
      point.low_ms = percentile(known, 0.1);
      point.high_ms = percentile(known, 0.9);
    }
    curve.push_back(point);
  }
  return curve;
}

}  // namespace fa_tune::community
