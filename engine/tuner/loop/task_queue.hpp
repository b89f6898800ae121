#pragma once

#include <functional>
#include <mutex>

#include "engine/util/blocking_queue.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune {

// Tasks that other threads post for one thread, the owner, to run. What only the owner touches
// needs no lock then. The queue also measures how long its owner was busy with something other than
// waiting for tasks.
class TaskQueue {
 public:
  using Task = std::move_only_function<void()>;

  // From any thread.
  void post(Task task) { tasks_.push(std::move(task)); }
  void wake() { post({}); }

  // The owner's: waits until there is a task, then runs all there are, in the order of post(). An
  // exception of a task leaves this function; the tasks behind it stay.
  void run_pending();

  // Milliseconds that the owner has not spent waiting in run_pending(), up to now. From any thread.
  double busy_ms() const;

 private:
  BlockingQueue<Task> tasks_;
  Stopwatch watch_;
  mutable std::mutex mutex_;  // guards the two below
  double waited_ms_ = 0;
  double waits_since_ms_ = -1;  // negative: it does not
};

}  // namespace fa_tune
