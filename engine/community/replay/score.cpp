#include "engine/community/replay/score.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/measure/statistics.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::community {
namespace {

// How near to the optimum the budget lets random search come, from the median.
constexpr double kTargetShare = 0.95;

}  // namespace

Scorer::Scorer(const RecordedTable& table) : configs_(table.entries.size()) {
  std::vector<double> costs;
  for (const TableEntry& entry : table.entries) {
    costs.push_back(entry.cost_ms);
    mean_cost_ms_ += entry.cost_ms / static_cast<double>(configs_);
    if (entry.time_ms) times_.push_back(*entry.time_ms);
  }
  if (times_.empty())
    throw UserError("table '" + table.name + "': no config has a time, nothing can be searched");
  std::ranges::sort(times_, std::greater{});
  median_ = fa_tune::measure::median(times_);
  median_cost_ms_ = fa_tune::measure::median(costs);
  const double target = optimum_ms() + (median_ - optimum_ms()) * (1 - kTargetShare);
  const auto reached = std::ranges::find_if(times_, [&](double time) { return time <= target; });
  const auto i = static_cast<double>(reached - times_.begin());
  const auto n = static_cast<double>(times_.size());
  budget_ = static_cast<std::size_t>(std::max(1.0, std::ceil(i / (n + 1 - i))));
}

double Scorer::budget_ms(std::size_t evaluations) const {
  return static_cast<double>(evaluations) * median_cost_ms_;
}

double Scorer::baseline_after(double draws) const {
  const auto n = static_cast<double>(times_.size());
  const double position = std::nearbyint(draws * (n + 1) / (draws + 1));
  return times_[static_cast<std::size_t>(std::min(position, n - 1))];
}

double Scorer::baseline_ms(double at_ms) const {
  return baseline_after(std::max(1.0, std::nearbyint(at_ms / mean_cost_ms_)));
}

double Scorer::gain(double best_ms, double baseline_ms) const {
  if (baseline_ms <= optimum_ms()) return best_ms <= optimum_ms() ? 1 : 0;
  return (baseline_ms - best_ms) / (baseline_ms - optimum_ms());
}

double Scorer::score(const Trace& trace, double budget_ms) const {
  double total = 0;
  double now = 0;
  double best = std::numeric_limits<double>::infinity();
  double draws = 1;
  // From `now` to `until` the best is what it is; the baseline goes on in steps, one a draw.
  const auto advance = [&](double until) {
    while (now < until) {
      const double leaves = (draws + 0.5) * mean_cost_ms_;
      const double end = std::min(until, leaves);
      if (std::isfinite(best))
        total += std::max(0.0, end - now) * gain(best, baseline_after(draws));
      if (leaves <= until) ++draws;
      now = std::max(now, end);
    }
  };
  for (const Step& step : trace) {
    if (step.elapsed_ms > budget_ms) break;
    advance(step.elapsed_ms);
    if (step.time_ms) best = std::min(best, *step.time_ms);
  }
  advance(budget_ms);
  return total / budget_ms;
}

}  // namespace fa_tune::community
