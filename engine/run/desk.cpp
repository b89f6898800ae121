#include "engine/run/desk.hpp"

#include <utility>

namespace fa_tune {

void Desk::leave(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Desk::work() {
  std::unique_lock lock(mutex_);
  if (tasks_.empty()) {
    waits_since_ms_ = watch_.milliseconds();
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    waited_ms_ += watch_.milliseconds() - waits_since_ms_;
    waits_since_ms_ = -1;
  }
  while (!tasks_.empty()) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    if (task) task();
    lock.lock();
  }
}

double Desk::busy_ms() const {
  const std::lock_guard lock(mutex_);
  const double now = watch_.milliseconds();
  const double waiting = waits_since_ms_ < 0 ? 0 : now - waits_since_ms_;
  return now - waited_ms_ - waiting;
}

}  // namespace fa_tune
