#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace fa_tune {

// Threads that take a part of what one thread has to do now and then, for less than a millisecond
// each time. Where all processors are busy they come late or not at all, and are not waited for. One
// thread at a time uses them.
class HelperThreads {
 public:
  // As many as the machine runs beside the thread that uses them, and not more than `most`. They are
  // begun when they are first needed.
  explicit HelperThreads(std::size_t most);
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  // Calls work(i) once for each i below `count`, here and in the threads that come in time; returns
  // when all is done. Throws what one of the calls threw; some of the others may not have been made
  // then.
  void share(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help(const std::stop_token& stop);
  void take(const std::function<void(std::size_t)>& work, std::size_t count);

  std::size_t most_;
  std::atomic<std::size_t> next_ = 0;  // of the work at hand
  std::mutex mutex_;                   // guards all of what follows
  std::condition_variable_any begun_, ended_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // none that anybody may still join
  std::size_t count_ = 0;
  std::uint64_t calls_ = 0;            // of share()
  std::size_t helping_ = 0;            // threads
  std::exception_ptr failure_;         // the first
  std::vector<std::jthread> threads_;  // last: they end before all else does
};

}  // namespace fa_tune
