#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {

// The trials of one run, in the order of their numbers. It writes each with its lineage, knows
// those that earlier sessions wrote, and keeps the counts.
class TrialLog {
 public:
  // A run that is resumed has trials already. All arguments must outlive it.
  TrialLog(const TuningTask& task, db::Store& store, std::int64_t run);

  // The row of an earlier session, or nullptr.
  const db::TrialRow* stored(std::uint64_t number) const;
  // Takes over such a row. Throws UserError if the proposal differs from what was tried then.
  db::TrialRow replay(std::uint64_t number, const search::Proposal& proposal);
  db::TrialRow record(FinishedTrial trial, const search::Proposal& proposal);

  // What the strategy is told of the trial last replayed or recorded.
  search::Evaluation told(const db::TrialRow& row, const Config& config) const;

  const RunCounts& counts() const { return counts_; }
  // Seconds that earlier sessions spent on the search.
  double seconds_before() const;

 private:
  std::optional<double> at_clock(const db::TrialRow& screened) const;
  void count(const db::TrialRow& row);

  const TuningTask& task_;
  db::Store& store_;
  std::int64_t run_;
  std::map<std::uint64_t, db::TrialRow> stored_;         // by number
  std::map<std::uint64_t, db::TrialRow> rows_;           // by number
  std::map<std::int64_t, std::optional<double>> times_;  // by id, of the screen, at_clock()
  std::map<std::int64_t, std::uint64_t> numbers_;        // by id
  RunCounts counts_;
};

}  // namespace fa_tune::tuner
