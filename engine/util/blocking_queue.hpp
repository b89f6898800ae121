#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace fa_tune {

// First in, first out, between threads. All of it may be called from any thread.
template <typename T>
class BlockingQueue {
 public:
  void push(T item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
  }

  // Waits for an item. Nothing once the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
    return take_front();
  }

  // The same, but it waits no longer than this.
  std::optional<T> pop_within(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [this] { return closed_ || !items_.empty(); });
    return take_front();
  }

  // Without waiting.
  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take_front();
  }

  // All that is there, for the caller to use or drop.
  std::deque<T> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }

  // Whoever waits goes on. What is there can still be taken.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::optional<T> take_front() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace fa_tune
