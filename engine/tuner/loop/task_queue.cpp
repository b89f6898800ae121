#include "engine/tuner/loop/task_queue.hpp"

namespace fa_tune::tuner {

void TaskQueue::run_pending() {
  run_pending([this] { return tasks_.pop(); });
}

void TaskQueue::run_pending(std::chrono::milliseconds most) {
  run_pending([this, most] { return tasks_.pop_within(most); });
}

void TaskQueue::run_pending(const std::function<std::optional<Task>()>& wait) {
  auto task = tasks_.try_pop();
  if (!task) {
    {
      const std::lock_guard lock(mutex_);
      waits_since_ms_ = watch_.milliseconds();
    }
    task = wait();
    const std::lock_guard lock(mutex_);
    waited_ms_ += watch_.milliseconds() - waits_since_ms_;
    waits_since_ms_ = -1;
  }
  for (; task; task = tasks_.try_pop())
    if (*task) (*task)();
}

double TaskQueue::busy_ms() const {
  const std::lock_guard lock(mutex_);
  const double now = watch_.milliseconds();
  const double waiting = waits_since_ms_ < 0 ? 0 : now - waits_since_ms_;
  return now - waited_ms_ - waiting;
}

}  // namespace fa_tune::tuner
