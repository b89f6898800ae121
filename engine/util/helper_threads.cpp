#include "engine/util/helper_threads.hpp"

#include <algorithm>
#include <utility>

namespace fa_tune {

HelperThreads::HelperThreads(std::size_t most)
    : most_(std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()) - 1)) {}

void HelperThreads::share(std::size_t count, const std::function<void(std::size_t)>& work) {
  while (threads_.size() < most_ && threads_.size() + 1 < count)
    threads_.emplace_back([this](const std::stop_token& stop) { help(stop); });
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    ++calls_;
  }
  if (count > 1) begun_.notify_all();
  take(work, count);
  std::unique_lock lock(mutex_);
  work_ = nullptr;
  ended_.wait(lock, [this] { return helping_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void HelperThreads::take(const std::function<void(std::size_t)>& work, std::size_t count) {
  try {
    for (std::size_t i; (i = next_++) < count;) work(i);
  } catch (...) {
    next_ = count;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void HelperThreads::help(const std::stop_token& stop) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (begun_.wait(lock, stop, [&] { return work_ != nullptr && calls_ != seen; })) {
    seen = calls_;
    ++helping_;
    const std::function<void(std::size_t)>& work = *work_;
    const std::size_t count = count_;
    lock.unlock();
    take(work, count);
    lock.lock();
    if (--helping_ == 0) ended_.notify_one();
  }
}

}  // namespace fa_tune
