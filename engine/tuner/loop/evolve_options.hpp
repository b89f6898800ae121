#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/search/external/proposer_arm.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/breakdown.hpp"
#include "engine/tuner/loop/warm_start.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"

namespace fa_tune {

// How a strategy is asked. Kept with a run, because its answers depend on it and must not depend on
// the machine.
struct BatchPolicy {
  // Trials asked for at once and told together.
  int generation = 4;
  // Generations asked for beyond the one that is to be told next: while it is timed, they are
  // compiled. What is proposed knows so much less; with three of four, no less than in a batch of
  // sixteen. A strategy that learns nothing loses nothing by it: enough then for the compilers of a
  // large machine.
  int ahead = 3;
  static constexpr int ahead_without_learning = 31;

  static BatchPolicy of(const Strategy& strategy) {
    BatchPolicy policy;
    if (!strategy.learns()) policy.ahead = ahead_without_learning;
    return policy;
  }
};

struct EvolveOptions {
  // The search ends at whichever comes first; one must be given. Seconds are those of the clock on
  // the wall, earlier sessions of a resumed run included, and do not cover the finals.
  std::optional<int> trials;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  std::string strategy = "evolve";
  int jobs = 1;        // compiler threads; what is found does not depend on it
  BatchPolicy policy;  // a resumed run has its own
  std::optional<std::int64_t> resume;
  // Runs of the store to learn from before the first trial (choose_prior_runs); a resumed run has
  // its own.
  std::vector<PriorRun> earlier;
  // Whether other runs of the store may tell it anything at all, such as which kernels end the
  // process that runs them; a resumed run has its own.
  bool warm = true;
  // An outside program that proposes a share of each generation. A run that had one is resumed with
  // one, and with the share it had.
  std::optional<ProposerOptions> proposer;
  // For finals on a device that measures: see hold_finals.
  EmulatorOpener emulator = {};
  bool finals = true;                     // else they are left to whoever goes on with the run
  std::vector<std::string> final_suites;  // what finalists are gated on; all suites if empty
};

// How a run stands, for whoever watches it.
struct RunCounts {
  int trials = 0;
  int right = 0;
  int refused = 0;
  int duplicate = 0;
  double seconds = 0;                // since the search began
  std::optional<TrialRow> best;      // the fastest right one so far, by its screen at one clock
  std::optional<TrialRow> baseline;  // the first preset, if it is right
};

// Told of a run's progress, on the thread that runs it.
class EvolveListener {
 public:
  virtual ~EvolveListener() = default;
  virtual void on_trial(const TrialRow& trial, const RunCounts& counts) = 0;
  // Finals take a while: "judged" so many of so many kernels, "raced" in so many processes.
  virtual void on_final_step(const std::string& /*step*/, int /*done*/, int /*of*/) {}
  virtual void on_final(const TrialRow& trial, int done, int of) = 0;
};

struct EvolveResult {
  std::int64_t run = 0;
  RunCounts counts;
  Breakdown breakdown;  // of this session's search
  bool interrupted = false;
  bool finals_left = false;  // EvolveOptions::finals
  bool device_lost = false;  // the last one that was left
  std::string
      trouble;  // why the run was given up, one line; empty if it was not, or by a lost device
};

}  // namespace fa_tune
