#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/community/table/recorded_table.hpp"

namespace fa_tune::community {

// The score of a search on a recorded table as the autotuning community defines it: F.-J.
// Willemsen, R. Schoonhoven, J. Filipovic, J. O. Tørring, R. van Nieuwpoort, B. van Werkhoven, "A
// methodology for comparing optimization algorithms for auto-tuning", Future Generation Computer
// Systems 159 (2024). All times in ms. `optimum` and `median` are over the N configs that have a
// time.
//
//   target(p)  = optimum + (median - optimum) (1 - p)
//   budget     : with the times sorted from the worst and i the first position with a time of at
//                most target(0.95): ceil(i / (N + 1 - i)) draws, each the median cost of a config;
//                that many random draws are expected to reach the target.
//   baseline(t): what random search has after M = round(t / mean cost) draws, at least 1: the time
//                at position round(M (N + 1) / (M + 1)), at most the last
//   P(t)       = (baseline(t) - best so far(t)) / (baseline(t) - optimum)
//   score      = the mean of P over 0..budget: 1 is always at the optimum, 0 is random search
//
// Positions count from 0 and round() goes to even, as in the code that its authors published
// (AutoTuningAssociation/autotuning_methodology: baseline.py, searchspace_statistics.py). Where
// both leave something open: costs are those of all recorded configs, failures included, as all of
// them are drawn and paid for; P is 0 until the first time is known; where the baseline has come to
// the optimum itself, P is 1 at the optimum and 0 elsewhere. The mean over time is exact, not on a
// grid of moments.

// A moment of a run. Steps are in order; those that bring no new best may be left out, except the
// last, which says how far the run went.
struct Step {
  std::size_t evaluation = 0;     // configs tried so far with this one, from 1; each counts once
  double elapsed_ms = 0;          // what all of them cost
  std::optional<double> time_ms;  // of this one; nothing where it failed
};
using Trace = std::vector<Step>;

class Scorer {
 public:
  // Throws UserError where no config of the table has a time.
  explicit Scorer(const RecordedTable& table);

  double optimum_ms() const { return times_.back(); }
  double median_ms() const { return median_; }
  std::size_t configs() const { return configs_; }  // with those that failed

  // The budget of the definition, as draws and as time.
  std::size_t budget_evaluations() const { return budget_; }
  double budget_ms() const { return budget_ms(budget_); }
  // The time of a budget of that many evaluations.
  double budget_ms(std::size_t evaluations) const;

  double baseline_ms(double at_ms) const;
  // The mean of P over the budget, in ms.
  double score(const Trace& trace, double budget_ms) const;
  // P where the best so far is known.
  double gain(double best_ms, double baseline_ms) const;

 private:
  double baseline_after(double draws) const;

  std::vector<double> times_;  // from the worst to the best
  std::size_t configs_ = 0;
  double median_ = 0;
  double median_cost_ms_ = 0;
  double mean_cost_ms_ = 0;
  std::size_t budget_ = 0;
};

}  // namespace fa_tune::community
