#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/model/rejection.hpp"

namespace fa_tune {

// How a try of one kernel on a device ended.
struct Attempt {
  bool lost = false;                     // the device is: nothing is said about the kernel
  bool broken_off = false;               // by what a process that was ending could not do
  std::optional<Fault> death = {};       // with which the process ended
  std::optional<Rejection> charge = {};  // once CrashPolicy has decided it

  // A fault that the device names, an illegal address say, is the kernel's own, though it may cost
  // the process. A process that just ended, or did not, explains nothing.
  bool unexplained() const;
};

// What follows when the process that runs kernels dies. It counts; its owner acts.
class CrashPolicy {
 public:
  static constexpr int kMostDeaths = 2;  // of a kernel, which is charged with the last
  // So many kernels in a row that died on one device and not on another: then it is the device.
  static constexpr int kMostFalseDeaths = 3;
  static constexpr int kMostChargedInARow = 8;  // then it is not the kernels

  // Whether `kernel`, a number of its owner's, is to be tried again after this try on `device`: in
  // a new process, on another device if there is one. Else `ended` has the charge, if there is one.
  bool tries_again(std::uint64_t kernel, Attempt& ended, std::size_t device = 0);
  // What one is charged with that was under way so often when the engine, in whose process it ran,
  // died.
  static std::optional<Rejection> left_under_way(int times);
  // `kernel` was right or wrong on `device`. The device that is not to be trusted, if there is one.
  std::optional<std::size_t> survived(std::uint64_t kernel, std::size_t device);
  // Told of trials in their order. Why the run is to be given up; empty if it is not.
  std::string settled(bool charged, const std::string& message);

 private:
  std::map<std::uint64_t, std::vector<std::size_t>> died_on_;  // by kernel that is not decided
  std::map<std::size_t, int> false_deaths_;                    // in a row, by device
  int charged_in_a_row_ = 0;
};

// Runs `attempt`, which takes one kernel through stages on the device. It is begun only on a device
// that is ready.
Attempt attempt_once(Device& device, const std::function<void()>& attempt);

// The same as often as CrashPolicy says, each time alone in a new process.
Attempt run_with_retry(Device& device, const std::function<void()>& attempt);

}  // namespace fa_tune
