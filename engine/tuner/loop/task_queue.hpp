#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/util/blocking_queue.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {

// Tasks that other threads post for one thread, the owner, to run. What only the owner touches
// needs no lock then. The queue also measures how long its owner was busy with something other than
// waiting for tasks.
class TaskQueue {
 public:
  using Task = std::move_only_function<void()>;

  // From any thread.
  void post(Task task) { tasks_.push(std::move(task)); }
  void wake() { post({}); }

  // Called by the owner: waits until there is a task, then runs all there are, in the order of
  // post(). If a task throws, the exception leaves this function and the tasks behind it stay.
  void run_pending();
  // The same, but it waits no longer than this.
  void run_pending(std::chrono::milliseconds most);

  // The owner has no use for what is there.
  void drop() { tasks_.take_all(); }

  // Milliseconds up to now in which the owner did not wait in run_pending(). Any thread may ask.
  double busy_ms() const;

 private:
  void run_pending(const std::function<std::optional<Task>()>& wait);

  BlockingQueue<Task> tasks_;
  Stopwatch watch_;
  mutable std::mutex mutex_;  // guards the two below
  double waited_ms_ = 0;
  double waits_since_ms_ = -1;  // negative while it does not wait
};

}  // namespace fa_tune::tuner
