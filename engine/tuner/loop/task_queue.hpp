#pragma once

#include <functional>
#include <mutex>

#include "engine/util/blocking_queue.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune {

// Where other threads leave what one thread, the owner, is to do: what only that one may touch
// needs no locks then. It also knows how long its owner had something else to do than to wait.
class TaskQueue {
 public:
  using Task = std::move_only_function<void()>;

  // From any thread.
  void post(Task task) { tasks_.push(std::move(task)); }
  void wake() { post({}); }

  // The owner's: waits until something is there, then does all of it in the order it was left.
  // What a task throws comes out; what was behind it stays.
  void run_pending();

  // Milliseconds that the owner has spent outside work()'s waiting, up to now. From any thread.
  double busy_ms() const;

 private:
  BlockingQueue<Task> tasks_;
  Stopwatch watch_;
  mutable std::mutex mutex_;  // guards the two below
  double waited_ms_ = 0;
  double waits_since_ms_ = -1;  // negative: it does not
};

}  // namespace fa_tune
