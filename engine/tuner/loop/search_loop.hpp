#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device_supply.hpp"
#include "engine/gate/gate.hpp"
#include "engine/search/external/proposer_arm.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/device_executor.hpp"
#include "engine/tuner/loop/device_roster.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/loop/strategy_thread.hpp"
#include "engine/tuner/loop/trial_log.hpp"
#include "engine/tuner/offload/device_stages.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
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
// numbers, on the thread that calls run(); the strategy has one of its own. Between the compile stage and the record, the executor
// gates and times each one on a device that is free. While one takes long to compile, those behind
// it that are ready go to the devices early; should it then turn out to be their twin, they are
// duplicates all the same. The result depends on neither compilers nor
// devices: a generation is asked for as soon as the one `ahead` places before its predecessor was
// told, and never later.
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
  std::vector<device::Device*> usable() const;

 private:
  // A proposal on its way.
  struct Entry {
    std::uint64_t number = 0;
    search::Proposal proposal;
    const db::TrialRow* stored = nullptr;  // the row of an earlier session, if there is one
    std::unique_ptr<Variant> variant;      // null if stored
    FinishedTrial compiled;                // every attempt begins with a copy of it
    FinishedTrial gated;                   // a slot writes to it while it is under way
    FinishedTrial trial;                   // what is recorded
    std::optional<bool> charged;           // no value if it did not come to a slot
    bool interrupted = false;              // before there was a verdict
    bool early = false;                    // begun, or refused, before its turn
    bool under_way = false;                // begun, and its end not heard of
    bool gate_counts = false;              // passed the compile stage in its turn
    bool is_gated = false;                 // a slot has brought it to its end
    bool finished = false;
  };

  bool advance();
  template <typename Step>
  bool together(const Step& step);
  bool wants_generation() const;
  bool ask();
  void take_proposals(std::vector<search::Proposal> proposals);
  bool take_compiled();
  bool compile_next();
  bool begin_early();
  bool record();
  void compile_one(Entry& entry);
  bool has_room() const;
  void name(db::TrialRow& row, const Entry& entry) const;
  std::optional<Rejection> known_as_deadly(const db::TrialRow& row);
  int begin(Entry& entry);
  void settle(Entry& entry);
  void add_device(device::Device& device);
  void take_arrived();
  bool wait_for_device();
  DeviceExecutor::Job job(Entry& entry);
  void on_gated(Entry& entry, std::size_t slot, Attempt ended);
  DeviceStages& stages_of(std::size_t slot);
  void tell_generation();
  std::vector<search::Proposal> ask_proposer();

  double seconds() const { return seconds_before_ + watch_.milliseconds() / 1000; }
  bool time_left() const { return !parts_.options.seconds || seconds() < *parts_.options.seconds; }
  // Whether this trial may still be begun.
  bool within_budget(std::uint64_t number) const;
  bool ending() const { return parts_.stop || !trouble_.empty() || executor_.alive() == 0; }

  SearchParts parts_;
  std::int64_t run_;
  bool warm_;  // a kernel that ended a process in another run fails here too
  BatchPolicy policy_;
  TrialLog log_;
  Stopwatch watch_;
  double compilers_before_s_;  // CompilerGroup::presence, as the watch began
  double seconds_before_;
  CompileStage compile_stage_;
  TrialSeeds seeds_;
  // By slot.
  std::vector<device::Device*> devices_;
  std::vector<std::string> device_names_;
  std::mutex stages_mutex_;  // guards stages_, not what it has
  std::vector<std::unique_ptr<DeviceStages>> stages_;
  std::uint64_t asked_ = 0;
  bool used_up_ = false;                  // the space is, or the proposer was interrupted
  std::deque<Entry> entries_;             // asked for and not recorded, by number
  std::size_t compiled_ = 0;              // of those, from the front
  std::vector<Entry*> begun_;             // submitted when their attempts are on disk
  std::deque<std::size_t> generations_;   // sizes of those that were not told
  std::vector<search::Evaluation> told_;  // of the first of these
  CrashPolicy crashes_;                   // kernels are trials' numbers, devices are slots
  bool interrupted_ = false;
  std::string trouble_;
  Breakdown breakdown_;
  DeviceExecutor executor_;  // last, with the strategy's thread: theirs end before all else does
  StrategyThread strategy_;
};

}  // namespace fa_tune::tuner
