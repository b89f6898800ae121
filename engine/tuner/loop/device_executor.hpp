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

namespace fa_tune::tuner {

// How the devices spent their time so far, in milliseconds, all of them together.
struct ExecutorTimes {
  double busy_ms = 0;
  double idle_ms = 0;             // no job was waiting
  double idle_for_engine_ms = 0;  // part of idle_ms: the queue's owner was busy meanwhile
};

// Runs jobs on the devices of a run. Each device has a slot with a thread of its own, which alone
// touches it. A free slot takes the next job in order; the job's end is posted to the task queue.
// All members but the constructor are for the queue's owner.
class DeviceExecutor {
 public:
  struct Job {
    // Called on the slot's thread.
    std::function<void(device::Device& device, std::size_t slot)> work;
    // Called by the queue's owner. A slot whose worker process died takes no job before this has
    // returned; a slot whose device is lost takes none any more.
    std::function<void(std::size_t slot, Attempt ended)> done;
  };

  // Both must outlive it. No thread but its own may touch the devices meanwhile, except for info().
  DeviceExecutor(std::span<device::Device* const> devices, TaskQueue& queue);
  ~DeviceExecutor() { stop(); }
  DeviceExecutor(const DeviceExecutor&) = delete;
  DeviceExecutor& operator=(const DeviceExecutor&) = delete;

  // Another device, on the same terms. It has the next slot.
  void add(device::Device& device);

  void submit(Job job);
  // Puts a job in front of all others after the worker of `slot` died over it, and has it run in a
  // new process. Another slot takes it if there is one: a kernel that ends the processes of two
  // devices is at fault itself.
  void resubmit(Job job, std::size_t slot);
  // Gives no more jobs to a device that cannot be trusted.
  void retire(std::size_t slot);
  // Drops the jobs that no slot has begun, without calling done().
  void cancel_waiting();
  // Drops the jobs that no slot has begun and waits for those under way; done() is called for
  // neither. The caller may use the devices then, and may submit nothing any more.
  void stop();

  std::size_t alive() const;
  bool alive(std::size_t slot) const;
  // Jobs submitted that are neither done nor dropped.
  std::size_t under_way() const;
  ExecutorTimes times() const;

  // The time of the fastest kernel that passed so far, 0 if there is none. It bounds how long
  // devices wait for a launch.
  void note_incumbent(double us) { incumbent_us_ = us; }

 private:
  struct Waiting {
    Job job;
    // Of a resubmitted job: no slot but another may take it while there is one.
    std::optional<std::size_t> not_in = {};
  };
  struct Slot {
    explicit Slot(device::Device& of) : device(&of) {}

    device::Device* device;
    bool holds = false;  // until the owner has decided what follows from a dead worker
    bool over = false;
    bool waits = false;  // and nobody has called it
    std::condition_variable called;
  };

  void run(std::size_t slot, device::Device& device);
  std::optional<Waiting> take(std::size_t slot);
  void tell(std::size_t slot, Job job, const Attempt& ended);
  std::deque<Waiting>::iterator next_for(std::size_t slot);
  std::size_t count_alive() const;
  // A slot that waits looks what has changed. Of hundreds only one is called for a job.
  static void call(Slot& slot);
  void call_all();

  TaskQueue& queue_;
  std::atomic<double> incumbent_us_{0};
  mutable std::mutex mutex_;  // guards all below but the threads
  std::deque<Slot> slots_;
  std::deque<Waiting> waiting_;
  std::size_t under_way_ = 0;
  bool ending_ = false;
  ExecutorTimes times_;
  std::vector<std::jthread> threads_;
};

}  // namespace fa_tune::tuner
