#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device_supply.hpp"
#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/search/external/proposer_arm.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/breakdown.hpp"
#include "engine/tuner/loop/device_roster.hpp"
#include "engine/tuner/loop/warm_start.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"

namespace fa_tune::tuner {

// How a strategy is asked. It is kept with a run, because the strategy's answers depend on it and
// must not depend on the machine that goes on with the run.
struct BatchPolicy {
  // Trials asked for at once and told together.
  int generation = 4;
  // Generations that are asked for beyond the one that is told next. They are compiled while that
  // one is timed. The strategy knows less when it proposes them; with three generations of four, no
  // less than in a batch of sixteen.
  int ahead = 3;

  int under_way() const { return generation * (ahead + 1); }
};

// What a run begins with.
struct Capacity {
  int compilers = 1;
  int devices = 1;
  bool measures = false;           // a GPU's times differ from run to run anyway
  std::optional<int> trials = {};  // the budget
};

// A strategy that learns nothing loses nothing by many trials under way. Else there are as many as
// keep all compilers and devices busy while one kernel takes some times as long to compile as
// others, but beyond the default never more than an eighth of the budget: a search that has few
// trials wants each of them to know of the others. On the emulator, the default whatever the machine:
// there a seed finds the same everywhere.
BatchPolicy choose_batch_policy(bool learns, const Capacity& capacity);

struct EvolveOptions {
  // The search ends at whichever comes first; one must be given. Seconds are wall-clock time,
  // earlier sessions of a resumed run included, and do not cover the finals.
  std::optional<int> trials;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  std::string strategy = "evolve";
  int jobs = 1;        // compilers to begin with; the result does not depend on it
  BatchPolicy policy;  // a resumed run has its own
  std::optional<std::int64_t> resume;
  // Runs of the store to learn from before the first trial (choose_prior_runs); a resumed run has
  // its own.
  std::vector<PriorRun> earlier;
  // Whether the search may use anything from other runs of the store, such as which kernels end the
  // process that runs them. A resumed run has its own.
  bool warm = true;
  // An outside program that proposes a share of each generation. A run that had one is resumed with
  // one, and with the share it had.
  std::optional<search::ProposerOptions> proposer;
  // For finals on a device that measures: see hold_finals.
  EmulatorOpener emulator = {};
  device::DeviceSupply* supply = nullptr;  // of more devices while it runs, of the same kind
  // What the compiler of the run asks, where compilers come and go while it runs.
  kernel::CompilerGroup* compilers = nullptr;
  bool finals = true;                     // if not, --resume holds them later
  std::vector<std::string> final_suites;  // what finalists are gated on; all suites if empty
};

// How a run stands, for progress and summaries.
struct RunCounts {
  int trials = 0;
  int passed = 0;
  int failed = 0;
  int duplicate = 0;
  double seconds = 0;                    // since the search began
  std::optional<db::TrialRow> best;      // the fastest that passed, by its screen at one clock
  std::optional<db::TrialRow> baseline;  // the first preset, if it passed
  // What the plain kernel takes, where there is no preset.
  std::optional<double> plain_us;
};

// Hears of a run's progress, on the thread that runs it.
class EvolveListener {
 public:
  virtual ~EvolveListener() = default;
  // The run has nothing to do until that is done: "compilers", "the device", ... It may say so again.
  virtual void on_wait(const std::string& /*what*/) {}
  virtual void on_trial(const db::TrialRow& trial, const RunCounts& counts) = 0;
  // How the devices stand, now that something of it has changed.
  virtual void on_devices(const std::vector<DeviceStanding>& /*devices*/) {}
  // A step of the finals, which take a while: see FinalsListener::step. Each begins with 0 done.
  virtual void on_final_step(const std::string& /*step*/, int /*done*/, int /*of*/) {}
  virtual void on_final(const db::TrialRow& trial, int done, int of) = 0;
};

// A config that its space calls a known best, beside the run's best.
struct KnownBest {
  std::string name;
  // Its time over that of the run's best; without ends where times are predicted.
  std::optional<Interval> ratio;
  std::string message;  // why there is none
};

struct EvolveResult {
  std::int64_t run = 0;
  RunCounts counts;
  Breakdown breakdown;                // of this session's search
  std::vector<KnownBest> known_best;  // of a run with a best
  bool interrupted = false;
  bool finals_left = false;  // they were not held (EvolveOptions::finals)
  bool device_lost = false;  // no device is left
  // Why the run was given up, in one line. Empty if it was not, or if no device was left.
  std::string trouble;
};

}  // namespace fa_tune::tuner
