#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "engine/search/analysis/insights.hpp"

namespace fa_tune {

std::vector<FailureInsight> Insights::failures() const {
  struct Count {
    int tried = 0;
    int failed = 0;
    std::map<std::string, int> stages;
  };
  std::vector<FailureInsight> found;
  for (std::size_t gene = 0; gene < codes_.genes(); ++gene) {
    std::vector<Count> counts(codes_.values(gene).size());
    Count all;
    for (const Trial& trial : trials_) {
      if (trial.codes.size() <= gene || trial.codes[gene] == kAbsent) continue;
      Count& count = counts[trial.codes[gene]];
      for (Count* each : {&count, &all}) {
        ++each->tried;
        each->failed += !trial.passed;
      }
      if (!trial.passed && !trial.origin.stage.empty()) ++count.stages[trial.origin.stage];
    }
    if (all.failed == 0) continue;
    for (std::size_t code = 0; code < counts.size(); ++code) {
      const Count& count = counts[code];
      if (count.tried == all.tried) continue;
      const Share failed = share(count.failed, count.tried);
      const Share others = share(all.failed - count.failed, all.tried - count.tried);
      // Of two values one says it all.
      if (counts.size() == 2 && failed.rate() < others.rate()) continue;
      if (counts.size() == 2 && code == 1 && failed.rate() == others.rate()) continue;
      found.push_back({codes_.name(gene), codes_.values(gene)[code], failed, others, count.stages,
                       fisher_p(failed, others), false});
    }
  }
  adjust(found);
  std::stable_sort(found.begin(), found.end(),
                   [](const FailureInsight& a, const FailureInsight& b) {
                     if (a.seen != b.seen) return a.seen;
                     return std::abs(a.failed.rate() - a.others.rate()) >
                            std::abs(b.failed.rate() - b.others.rate());
                   });
  return found;
}

std::vector<OperatorGain> Insights::operators() const {
  struct Count {
    int passed = 0;
    int compared = 0;
    int better = 0;
    std::vector<GainAndCost> children;
  };
  std::map<std::string, Count> counts;
  for (const Trial& trial : trials_) {
    if (trial.origin.operation.empty()) continue;
    Count& count = counts[trial.origin.operation];
    GainAndCost child{0, trial.cost_s};
    count.passed += trial.passed;
    if (trial.passed && !trial.origin.parents.empty())
      if (const auto parent = times_.find(trial.origin.parents.front()); parent != times_.end()) {
        ++count.compared;
        count.better += trial.log_time < parent->second;
        child.gain = std::max(0.0, parent->second - trial.log_time);
      }
    count.children.push_back(child);
  }
  std::vector<OperatorGain> gains;
  for (const auto& [operation, count] : counts) {
    const int trials = static_cast<int>(count.children.size());
    OperatorGain gain{operation, trials, share(count.passed, trials),
                      share(count.better, count.compared)};
    for (const GainAndCost& child : count.children) {
      gain.cost_s += child.cost;
      gain.log_gain += child.gain;
    }
    if (gain.cost_s > 0) gain.per_s = gain.log_gain / gain.cost_s;
    std::tie(gain.per_s_low, gain.per_s_high) = ratio_interval(count.children);
    gains.push_back(std::move(gain));
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const OperatorGain& a, const OperatorGain& b) { return a.per_s > b.per_s; });
  return gains;
}

}  // namespace fa_tune
