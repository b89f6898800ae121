#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/search/analysis/hypothesis_tests.hpp"
#include "engine/search/analysis/matched_pairs.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune::search {

// What a run's trials teach about its genes: which values make kernels faster, which genes act on
// one another, which values fail, which operators earn their cost.
//
// Methods. Effects are ratios of times. 'pairs': all pairs of passed trials that differ in that
// gene alone; Hodges-Lehmann estimate of the log-ratio, 95% interval and p by the signed-rank test
// (hypothesis_tests.hpp); at least kFewestPairs. 'model': where a value has no such pairs with the
// gene's most used value, a linear model of log time (main_effects.hpp). Interactions: squares of
// four trials, tested like pairs. Failures: a value's trials against all others that have the gene,
// Fisher's exact test, Wilson's interval.
//
// Strength. An insight is `seen` if its p, made larger by Holm for all questions of its kind asked
// of this run, is below 0.05: on noise, all the effects (or interactions, or failures) together
// claim anything at all in 5% of runs. Intervals are of each figure by itself. What they speak of
// is the configs that were tried: in a search that follows its best, those are the good ones, and a
// parent that owes its place to a lucky measurement makes its children look slower by that luck.
//
// Times must be of one kind, all measured or all predicted, and of one shape and device.

enum class InsightMethod { pairs, model };
std::string to_text(InsightMethod method);

// `value` instead of `against`: the time becomes exp(log_ratio) times as long.
struct Effect {
  std::string gene;
  Value value;  // never the slower one of the two
  Value against;
  double log_ratio = 0;  // <= 0
  double low = 0;
  double high = 0;
  int n = 0;  // pairs, or trials with either value for a model
  InsightMethod method = InsightMethod::pairs;
  double p = 1;  // Holm's
  bool seen = false;
};

// What `gene` brings when it goes from `against` to `value` hangs on another gene: where that is
// `other_value` instead of `other_against`, the ratio is exp(log_ratio) times as large.
struct Interaction {
  std::string gene;
  Value value;
  Value against;
  std::string other_gene;
  Value other_value;
  Value other_against;
  double log_ratio = 0;  // <= 0: the values named first do better together than apart
  double low = 0;
  double high = 0;
  int n = 0;  // squares
  double p = 1;
  bool seen = false;
};

struct FailureInsight {
  std::string gene;
  Value value;
  Share failed;                       // of the trials with the value
  Share others;                       // of the trials with another value of the gene
  std::map<std::string, int> stages;  // where the value's trials failed, if it was told
  double p = 1;
  bool seen = false;
};

struct OperatorGain {
  std::string operation;
  int trials = 0;
  Share passed;
  Share better;  // than their main parent, of those where both passed
  double cost_s = 0;
  double log_gain = 0;  // sum over children that are better: log(parent's time / child's time)
  double per_s = 0;     // log_gain / cost_s, with a 95% bootstrap interval over trials
  double per_s_low = 0;
  double per_s_high = 0;
};

// Where a trial came from and what stopped it, as far as is known.
struct TrialOrigin {
  std::string operation;
  std::vector<std::uint64_t> parents;  // numbers, the main one first
  std::string stage;                   // the last one reached; looked at where the trial failed
  // It was not timed, since its kernel is another trial's: it has that one's time, for rates, and
  // is no observation of its own.
  bool duplicate = false;
};

// Evaluation trial after trial, cheaply; the questions cost more and remember nothing but what was
// told.
class Insights {
 public:
  // A config that was told before is taken for what it is, the same trial.
  void tell(const Evaluation& told) { tell(told, {}); }
  void tell(const Evaluation& told, const TrialOrigin& origin);

  // Most useful first: what is seen by size, then what is not by how narrow its interval is.
  std::vector<Effect> effects() const;
  std::vector<Interaction> interactions() const;
  std::vector<FailureInsight> failures() const;  // of genes with failed trials
  std::vector<OperatorGain> operators() const;   // by gain a second

  std::size_t trials() const { return trials_.size(); }
  std::size_t passed() const { return times_.size(); }

 private:
  struct Trial {
    Codes codes;
    bool passed = false;
    double log_time = 0;
    double cost_s = 0;
    TrialOrigin origin;
  };

  std::vector<Effect> paired_effects() const;
  void add_model_effects(std::vector<Effect>& effects) const;

  GeneCodes codes_;
  std::vector<Trial> trials_;
  std::map<std::uint64_t, double> times_;  // log time of those that passed, by number
  std::set<std::string> known_;            // configs as JSON
  mutable MatchedConfigs matched_;         // finds squares when asked
};

}  // namespace fa_tune::search
