#pragma once

#include <cstdint>
#include <string>

#include "db/store.hpp"
#include "engine/tuner/loop/device_roster.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {

// Keeps in the database how a run stands while it runs (migration run_status), and passes on what it
// hears to another listener. It writes on the thread that runs the run, when something has changed:
// a few times at once at most, and once a second over a longer time. A step that may last long is
// written at once.
class StatusLog final : public EvolveListener {
 public:
  // All of these must outlive it.
  StatusLog(db::Store& store, const DeviceRoster& roster, const EvolveOptions& options,
            EvolveListener& inner);

  // From now on, of this run.
  void begin(std::int64_t run);
  // "search", "finals", "over".
  void enter(const std::string& phase);

  void on_wait(const std::string& what) override;
  void on_trial(const db::TrialRow& trial, const RunCounts& counts) override;
  void on_final_step(const std::string& step, int done, int of) override;
  void on_final(const db::TrialRow& trial, int done, int of) override;

 private:
  void look();
  void write();
  std::string json() const;

  db::Store& store_;
  const DeviceRoster& roster_;
  const EvolveOptions& options_;
  EvolveListener& inner_;
  std::int64_t run_ = 0;  // 0: not begun
  std::string began_;
  std::string phase_ = "search";
  std::string waits_for_;
  std::string step_;
  int step_done_ = 0;
  int step_of_ = 0;
  std::string written_;
  std::uint64_t told_changes_ = 0;
  // Writes that may be made now.
  double allowed_;
  Stopwatch since_look_;
};

}  // namespace fa_tune::tuner
