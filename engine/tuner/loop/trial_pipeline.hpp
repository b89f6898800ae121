#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/device_executor.hpp"
#include "engine/tuner/loop/device_roster.hpp"
#include "engine/tuner/loop/task_queue.hpp"
#include "engine/tuner/offload/device_stages.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/util/helper_threads.hpp"

namespace fa_tune::tuner {

// What the pipeline of a run works with. All of it must outlive the pipeline.
struct PipelineParts {
  const TuningTask& task;
  device::Device& first;  // those that come later are of its kind; its info() alone is used
  TaskQueue& queue;
  kernel::CompilePool& pool;
  gate::TruthCache& truth;
  db::Store& store;
  DeviceRoster& roster;  // gets all devices
  // Whether the trial of this number may still be begun.
  std::function<bool(std::uint64_t number)> may_begin;
  bool more_devices = false;  // others may come where none is left
};

// A trial that has come to its end.
struct EndedTrial {
  std::uint64_t number = 0;
  search::Proposal proposal;
  // None if an earlier session recorded it.
  std::optional<FinishedTrial> trial;
  // Why the run is to be given up after it; mostly empty.
  std::string trouble;
};

// The trials of a run between their proposal and their record. They pass the compile stage in the
// order of their numbers and come out in that order. In between they are gated and timed on
// whichever device is free, each after its attempt is on disk. While one takes long to compile,
// those behind it that are ready go to the devices ahead of their turn. One of these that turns out
// to be the twin of an earlier one is a duplicate all the same, and what a device said of it is
// dropped. So what comes out depends on neither compilers nor devices.
//
// All members are for the queue's owner, which wakes when there is something to do.
class TrialPipeline {
 public:
  // `run`: its row is in the store. `warm`: it goes on from others, and a kernel that ended a
  // process in one of these fails here too.
  TrialPipeline(PipelineParts parts, std::int64_t run, bool warm, TrialSeeds seeds);

  void add_device(device::Device& device);
  // By slot, as trials call them.
  const std::vector<std::string>& device_names() const { return device_names_; }
  // The devices that can still be used.
  std::vector<device::Device*> usable() const;

  // The trial of the next number. What is added is compiled from the next advance() on, unless it is
  // not to be begun any more.
  void add(search::Proposal proposal);
  // The same for one that an earlier session recorded. The row must outlive it here.
  void add_recorded(search::Proposal proposal, const db::TrialRow& row);

  // Begins to compile what was added. Then one step with what has been compiled, if there is one to
  // take: the next trial in turn, or one ahead of it where a device would wait. Throws
  // kernel::NoCompilerLeft.
  bool advance();
  // Hands over what advance() has begun. Its attempts are on disk by then.
  void submit_begun();
  // The first trial, if it has ended.
  std::optional<EndedTrial> take_ended();

  bool empty() const { return entries_.empty(); }
  bool waits_for_compiler() const;
  std::size_t on_devices() const { return executor_.under_way(); }
  std::size_t devices_alive() const { return executor_.alive(); }

  // See DeviceExecutor.
  void note_incumbent(double us) { executor_.note_incumbent(us); }
  void cancel_waiting() { executor_.cancel_waiting(); }
  void stop() { executor_.stop(); }
  ExecutorTimes device_times() const { return executor_.times(); }
  double store_seconds() const { return store_s_; }

 private:
  // What the compile stage says of a trial, in its turn.
  enum class Turn {
    to_come,
    passed,  // what a device says counts
    over,    // what a device says does not
  };
  enum class OnDevice {
    not_yet,
    refused,  // ahead of its turn, in which it is looked at again
    under_way,
    ended,
  };
  struct Entry {
    std::uint64_t number = 0;
    search::Proposal proposal;
    const db::TrialRow* recorded = nullptr;  // by an earlier session
    std::unique_ptr<Variant> variant;        // null if recorded, and once no device needs it
    FinishedTrial compiled;                  // each attempt begins with a copy
    // A slot writes to these two while the trial is under way.
    FinishedTrial gated;
    bool interrupted = false;     // before there was a verdict
    FinishedTrial trial;          // what is recorded
    std::optional<bool> charged;  // no value if it did not come to a slot
    Turn turn = Turn::to_come;
    OnDevice on_device = OnDevice::not_yet;

    bool begun() const { return on_device == OnDevice::under_way || on_device == OnDevice::ended; }
    bool has_ended() const {
      return turn == Turn::passed ? on_device == OnDevice::ended
                                  : turn == Turn::over && on_device != OnDevice::under_way;
    }
  };

  Entry& append(search::Proposal proposal);
  void prepare_added();
  bool take_turn();
  void pass_in_turn(Entry& entry);
  bool begin_early();
  bool has_room() const;
  std::optional<Rejection> known_as_deadly(const db::TrialRow& row);
  int begin(Entry& entry);
  DeviceExecutor::Job job(Entry& entry);
  DeviceStages& stages_of(std::size_t slot);
  void on_gated(Entry& entry, std::size_t slot, Attempt ended);
  void retire(std::size_t slot, std::size_t other);

  PipelineParts parts_;
  std::int64_t run_;
  bool warm_;
  TrialSeeds seeds_;
  CompileStage compile_stage_;
  // By slot.
  std::vector<device::Device*> devices_;
  std::vector<std::string> device_names_;
  std::mutex stages_mutex_;  // guards stages_, not what it has
  std::vector<std::unique_ptr<DeviceStages>> stages_;
  std::uint64_t added_ = 0;
  std::deque<Entry> entries_;       // by number
  std::size_t in_turn_ = 0;         // of those, from the front: whose turn has come
  std::size_t look_from_ = 0;       // where begin_early() goes on
  std::vector<Entry*> to_prepare_;  // the last ones
  std::vector<Entry*> begun_;       // submitted when their attempts are on disk
  CrashPolicy crashes_;             // kernels are trials' numbers, devices are slots
  double store_s_ = 0;
  HelperThreads helpers_;
  DeviceExecutor executor_;  // last: its threads end before all else does
};

}  // namespace fa_tune::tuner
