#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/tuner/loop/task_queue.hpp"
#include "engine/tuner/trial/crash_policy.hpp"

namespace fa_tune {

// How executor spent their time so far, in milliseconds, all of them together.
struct ExecutorTimes {
  double busy_ms = 0;
  double idle_ms = 0;           // nothing was handed out
  double idle_for_engine_ms = 0;  // of that: while the queue's owner was at something else
};

// The devices of a run, each with a thread of its own that alone touches it. What is handed out is
// taken in order by whoever is free; what came of it is told at the queue. All but the constructor
// is for the queue's owner.
class DeviceExecutor {
 public:
  struct Job {
    // On the slot's thread.
    std::function<void(Device& device, std::size_t slot)> work;
    // At the queue. A slot that lost its process does nothing before this has returned; one that
    // lost its device nothing any more.
    std::function<void(std::size_t slot, Attempt ended)> done;
  };

  // Both must outlive it. No thread but its own may touch the devices meanwhile, except for info().
  DeviceExecutor(std::span<Device* const> devices, TaskQueue& queue);
  ~DeviceExecutor() { stop(); }
  DeviceExecutor(const DeviceExecutor&) = delete;
  DeviceExecutor& operator=(const DeviceExecutor&) = delete;

  void submit(Job job);
  // Before all others and in a new process, after `slot` was lost over it or its process was.
  // Another slot takes it if there is one: what ends the processes of two devices does so by
  // itself.
  void resubmit(Job job, std::size_t slot);
  // Nothing more is given to a device that cannot be trusted.
  void retire(std::size_t slot);
  // Drops what no slot has begun; of that nothing is told.
  void cancel_waiting();
  // Drops what no slot has begun and waits for what is under way; of neither is anything told. The
  // devices are anybody's then; nothing may be handed out any more.
  void stop();

  std::size_t alive() const;
  bool alive(std::size_t slot) const;
  // Handed out and neither told of nor dropped.
  std::size_t under_way() const;
  ExecutorTimes times() const;

  // The fastest right kernel's time, for the devices' patience; 0 for none.
  void note_incumbent(double us) { incumbent_us_ = us; }

 private:
  struct Waiting {
    Job job;
    // If it is handed out again: not for this slot while there are others.
    std::optional<std::size_t> not_in = {};
  };
  struct Slot {
    Device* device = nullptr;
    bool holds = false;  // until the queue has decided what follows from a death
    bool over = false;
  };

  void run(std::size_t slot);
  std::optional<Waiting> take(std::size_t slot);
  void tell(std::size_t slot, Job job, const Attempt& ended);
  std::deque<Waiting>::iterator next_for(std::size_t slot);
  std::size_t count_alive() const;

  TaskQueue& queue_;
  std::atomic<double> incumbent_us_{0};
  mutable std::mutex mutex_;  // guards all below but the threads
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::deque<Waiting> waiting_;
  std::size_t under_way_ = 0;
  bool ending_ = false;
  ExecutorTimes times_;
  std::vector<std::jthread> threads_;
};

}  // namespace fa_tune
