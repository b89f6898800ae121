#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune {

// The trials of one run, in the order of their numbers. It writes each with its lineage, knows
// those that earlier sessions wrote, and keeps the counts.
class TrialLog {
 public:
  // A run that is resumed has trials already. All arguments must outlive it.
  TrialLog(const TuningTask& task, Store& store, std::int64_t run);

  // The row of an earlier session, or nullptr.
  const TrialRow* stored(std::uint64_t number) const;
  // Takes over such a row. Throws UserError if the proposal differs from what was tried then.
  TrialRow replay(std::uint64_t number, const Proposal& proposal);
  TrialRow record(FinishedTrial trial, const Proposal& proposal);

  // What the strategy is told of the trial last replayed or recorded.
  Evaluation told(const TrialRow& row, const Config& config) const;

  const RunCounts& counts() const { return counts_; }
  // Seconds that earlier sessions spent on the search.
  double seconds_before() const;

 private:
  std::optional<double> at_clock(const TrialRow& screened) const;
  void count(const TrialRow& row);

  const TuningTask& task_;
  Store& store_;
  std::int64_t run_;
  std::map<std::uint64_t, TrialRow> stored_;             // by number
  std::map<std::uint64_t, TrialRow> rows_;               // by number
  std::map<std::int64_t, std::optional<double>> times_;  // by id, of the screen, at_clock()
  RunCounts counts_;
};

}  // namespace fa_tune
