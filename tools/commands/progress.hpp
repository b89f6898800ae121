#pragma once

#include <string>

#include "engine/tuner/evolve.hpp"

namespace fa_tune {

// Shows a run on standard error: on a terminal one line that is rewritten, else a line now and
// then.
class Progress : public EvolveListener {
 public:
  // `kind` is "measured" or "predicted"; `options` gives the budget for 'time left'.
  Progress(const EvolveOptions& options, std::string kind);
  ~Progress() override;

  void on_trial(const TrialRow& trial, const RunCounts& counts) override;
  void on_final_step(const std::string& step, int done, int of) override;
  void on_final(const TrialRow& trial, int done, int of) override;

 private:
  void show(const std::string& line, bool important);

  const EvolveOptions& options_;
  std::string kind_;
  bool terminal_;
  std::size_t width_ = 0;  // of the line that stands on the terminal
  int fresh_ = 0;          // trials of this session
  double best_us_ = 0;
};

}  // namespace fa_tune
