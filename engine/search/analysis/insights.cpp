#include "engine/search/analysis/insights.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/search/analysis/main_effects.hpp"
#include "engine/search/analysis/signed_rank.hpp"

namespace fa_tune {
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

}  // namespace fa_tune
