#include "engine/search/analysis/insights.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "engine/search/analysis/hypothesis_tests.hpp"
#include "engine/search/analysis/main_effects.hpp"

namespace fa_tune::search {

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

namespace {

// An interval that touches zero, as it may where many times are equal, is no effect either.
template <typename Finding>
void adjust_ratios(std::vector<Finding>& findings) {
  adjust(findings);
  for (Finding& finding : findings)
    if (finding.low <= 0 && finding.high >= 0) finding.seen = false;
}

template <typename Finding>
void most_useful_first(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.seen != b.seen) return a.seen;
    return a.seen ? a.log_ratio < b.log_ratio : a.high - a.low < b.high - b.low;
  });
}

// Turns a finding round where its ratio is above 1, so that it names what is faster.
template <typename Finding>
void name_the_faster(Finding& finding) {
  if (finding.log_ratio <= 0) return;
  std::swap(finding.value, finding.against);
  finding.log_ratio = -finding.log_ratio;
  finding.low = -std::exchange(finding.high, -finding.low);
}

}  // namespace

std::string to_text(InsightMethod method) {
  return method == InsightMethod::pairs ? "pairs" : "model";
}

void Insights::tell(const Evaluation& told, const TrialOrigin& origin) {
  if (!known_.insert(told.config.to_json()).second) return;
  Trial trial{codes_.encode(told.config), told.passed && told.time_us.has_value(), 0, told.cost_s,
              origin};
  if (trial.passed) {
    trial.log_time = std::log(*told.time_us);
    times_.emplace(told.number, trial.log_time);
    if (!origin.duplicate) matched_.add(trial.codes, trial.log_time);
  }
  trials_.push_back(std::move(trial));
}

std::vector<Effect> Insights::paired_effects() const {
  std::vector<Effect> effects;
  for (const auto& [contrast, differences] : matched_.pairs()) {
    if (differences.size() < kFewestPairs) continue;
    const SignedRank rank = signed_rank(differences);
    const auto& values = codes_.values(contrast.gene);
    effects.push_back({codes_.name(contrast.gene), values[contrast.to], values[contrast.from],
                       rank.center, rank.low, rank.high, static_cast<int>(differences.size()),
                       InsightMethod::pairs, rank.p, false});
  }
  return effects;
}

void Insights::add_model_effects(std::vector<Effect>& effects) const {
  std::vector<Codes> configs;
  std::vector<double> figures;
  for (const Trial& trial : trials_) {
    if (!trial.passed || trial.origin.duplicate) continue;
    configs.push_back(trial.codes);
    codes_.lengthen(configs.back());
    figures.push_back(trial.log_time);
  }
  for (const MainEffect& main : main_effects(configs, figures)) {
    Contrast contrast = main.contrast;
    if (contrast.from > contrast.to) std::swap(contrast.from, contrast.to);
    const auto pairs = matched_.pairs().find(contrast);
    if (pairs != matched_.pairs().end() && pairs->second.size() >= kFewestPairs) continue;
    const auto& values = codes_.values(contrast.gene);
    effects.push_back({codes_.name(contrast.gene), values[main.contrast.to],
                       values[main.contrast.from], main.amount, main.low, main.high, main.used,
                       InsightMethod::model, main.p, false});
  }
}

std::vector<Effect> Insights::effects() const {
  auto effects = paired_effects();
  add_model_effects(effects);
  adjust_ratios(effects);
  for (Effect& effect : effects) name_the_faster(effect);
  most_useful_first(effects);
  return effects;
}

std::vector<Interaction> Insights::interactions() const {
  std::vector<Interaction> found;
  for (const auto& [squares, differences] : matched_.squares()) {
    if (differences.size() < kFewestPairs) continue;
    const SignedRank rank = signed_rank(differences);
    const auto& values = codes_.values(squares.first.gene);
    const auto& others = codes_.values(squares.second.gene);
    found.push_back({codes_.name(squares.first.gene), values[squares.first.to],
                     values[squares.first.from], codes_.name(squares.second.gene),
                     others[squares.second.to], others[squares.second.from], rank.center, rank.low,
                     rank.high, static_cast<int>(differences.size()), rank.p, false});
  }
  adjust_ratios(found);
  for (Interaction& interaction : found) name_the_faster(interaction);
  most_useful_first(found);
  return found;
}

}  // namespace fa_tune::search
