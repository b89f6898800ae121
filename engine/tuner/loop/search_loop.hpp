#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device_supply.hpp"
#include "engine/gate/gate.hpp"
#include "engine/search/external/proposer_arm.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/device_roster.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/loop/strategy_thread.hpp"
#include "engine/tuner/loop/trial_log.hpp"
#include "engine/tuner/loop/trial_pipeline.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {

// The parts that the search of a run works with. All of them must outlive the loop.
struct SearchParts {
  const TuningTask& task;
  std::span<device::Device* const> devices;
  TaskQueue& queue;  // the compile pool wakes it
  kernel::CompilePool& pool;
  gate::TruthCache& truth;
  db::Store& store;
  const EvolveOptions& options;
  EvolveListener& listener;
  const std::atomic<bool>& stop;
  search::Strategy& strategy;
  search::ProposerArm* proposer;  // may be null
  device::DeviceSupply* supply;   // of more devices; may be null
  DeviceRoster& roster;           // gets all devices of the search
};

// The search of one run. Proposals are asked for, compiled, recorded and told in the order of their
// numbers, on the thread that calls run(); the strategy has one of its own. What becomes of them in
// between is the pipeline's. The result depends on neither compilers nor devices: a generation is
// asked for as soon as the one `ahead` places before its predecessor was told, and never later.
class SearchLoop {
 public:
  // `policy` and `seed` are the run's.
  SearchLoop(const SearchParts& parts, std::int64_t run, BatchPolicy policy, std::uint64_t seed);

  // When it has returned, the caller may use the devices again.
  void run();

  const RunCounts& counts() const { return log_.counts(); }
  Breakdown breakdown() const;
  bool interrupted() const { return interrupted_; }
  // Why the run was given up; empty if it was not.
  const std::string& trouble() const { return trouble_; }
  // Whether the budget has a trial more.
  bool has_more() const;
  // The devices that can still be used.
  std::vector<device::Device*> usable() const { return pipeline_.usable(); }

 private:
  bool advance();
  template <typename Step>
  bool together(const Step& step);
  bool wants_generation() const;
  bool ask();
  void take_proposals(std::vector<search::Proposal> proposals);
  bool take_compiled();
  bool record();
  void take_arrived();
  bool wait_for_device();
  bool tell_generation();
  std::vector<search::Proposal> ask_proposer();

  double seconds() const { return seconds_before_ + watch_.milliseconds() / 1000; }
  bool time_left() const { return !parts_.options.seconds || seconds() < *parts_.options.seconds; }
  bool within_budget(std::uint64_t number) const;
  // Whether this trial may still be begun.
  bool may_begin(std::uint64_t number) const;

  SearchParts parts_;
  BatchPolicy policy_;
  TrialLog log_;
  Stopwatch watch_;
  double compilers_before_s_;  // CompilerGroup::presence, as the watch began
  double seconds_before_;
  std::uint64_t asked_ = 0;
  bool used_up_ = false;                  // the space is, or the proposer was interrupted
  std::deque<std::size_t> generations_;   // sizes of those that were not told
  std::vector<search::Evaluation> told_;  // of the first of these
  bool interrupted_ = false;
  std::string trouble_;
  Breakdown breakdown_;
  TrialPipeline pipeline_;  // last, with the strategy's thread: theirs end before all else does
  StrategyThread strategy_;
};

}  // namespace fa_tune::tuner
