#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/util/stopwatch.hpp"
#include "tools/terminal/live_line.hpp"
#include "tools/terminal/status.hpp"

namespace fa_tune::terminal {

// Shows a run on standard error: on a terminal one live line, else a line now and then and one for
// each new best. It says once that `stop` was set, also while the run is busy with something long.
// Where only errors are logged, it is silent.
class Progress : public tuner::EvolveListener {
 public:
  // `kind` is "measured" or "predicted"; `options` gives the budget for 'time left'.
  Progress(const tuner::EvolveOptions& options, std::string kind, const std::atomic<bool>& stop);
  ~Progress() override;

  void on_wait(const std::string& what) override;
  void on_trial(const db::TrialRow& trial, const tuner::RunCounts& counts) override;
  void on_devices(const std::vector<tuner::DeviceStanding>& devices) override;
  void on_final_step(const std::string& step, int done, int of) override;
  void on_final(const db::TrialRow& trial, int done, int of) override;

 private:
  Line line(std::size_t columns);
  void tick(const std::stop_token& ended);
  void tell_stop();
  void write_line(const std::string& text) const;

  const tuner::EvolveOptions& options_;
  const std::atomic<bool>& stop_;
  bool quiet_;
  bool stop_told_ = false;  // the ticker's, as long as it runs
  int fresh_ = 0;           // trials of this session
  std::mutex mutex_;        // guards the next three
  RunStatus status_;
  Stopwatch since_trial_;
  Stopwatch since_wait_;
  std::unique_ptr<LiveLine> live_;  // on a terminal
  std::condition_variable_any over_;
  std::jthread ticker_;  // last: it uses all of the others
};

}  // namespace fa_tune::terminal
