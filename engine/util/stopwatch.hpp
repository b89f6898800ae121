#pragma once

#include <chrono>

namespace fa_tune {

// The wall time since it was made.
class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Adds the seconds for which it is there to a sum.
class ScopedSeconds {
 public:
  explicit ScopedSeconds(double& sum) : sum_(sum) {}
  ~ScopedSeconds() { sum_ += watch_.milliseconds() / 1000; }
  ScopedSeconds(const ScopedSeconds&) = delete;
  ScopedSeconds& operator=(const ScopedSeconds&) = delete;

 private:
  double& sum_;
  Stopwatch watch_;
};

}  // namespace fa_tune
