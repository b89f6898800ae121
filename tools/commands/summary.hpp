#pragma once

#include <string>

#include "db/store.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::commands {

// What a run came to, for a person: the best kernel beside every preset and the plain kernel, and the commands that lead
// on. `db` is the database's path as the user typed it.
std::string summarize(const tuner::TuningTask& task, const db::Store& store,
                      const tuner::EvolveResult& result, const std::string& db);

// The same for programs, an object; stable:
//   run, trials {all, passed, failed, duplicate}  integers     state  done, interrupted
//   seconds     of the search, earlier sessions included
//   best        null, or {trial, config, stage, time_us {median, low, high, kind}}
//   baseline_us the first preset's screen, or null
//   plain_us    the plain kernel's, or null
//   breakdown   of this session's search (engine/tuner/loop/breakdown.hpp)
std::string summary_json(const db::Store& store, const tuner::EvolveResult& result);

// Tells how much of the timed shape's output is compared with float64, where that is not all of it.
void announce_coverage(const problem::Problem& problem);

// Shows a run on standard error: on a terminal one line that is rewritten, else a line now and
// then.
class Progress : public tuner::EvolveListener {
 public:
  // `kind` is "measured" or "predicted"; `options` gives the budget for 'time left'.
  Progress(const tuner::EvolveOptions& options, std::string kind);
  ~Progress() override;

  void on_trial(const db::TrialRow& trial, const tuner::RunCounts& counts) override;
  void on_final_step(const std::string& step, int done, int of) override;
  void on_final(const db::TrialRow& trial, int done, int of) override;

 private:
  void show(const std::string& said, bool important);

  const tuner::EvolveOptions& options_;
  std::string kind_;
  bool terminal_;
  std::size_t width_ = 0;  // of the line that stands on the terminal
  int fresh_ = 0;          // trials of this session
  double best_us_ = 0;
};

}  // namespace fa_tune::commands
