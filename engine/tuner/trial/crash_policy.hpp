#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/model/rejection.hpp"
#include "engine/util/process.hpp"

namespace fa_tune::tuner {

// How one attempt to run a kernel on a device ended.
struct Attempt {
  bool lost = false;  // the device was lost; this says nothing about the kernel
  std::optional<std::string> lost_because = {};  // of a device that is lost from then on
  bool broken_off = false;                       // because the process was already ending
  std::optional<device::Fault> death = {};       // the fault that ended the process
  std::optional<Rejection> charge = {};          // what the kernel is charged with, by CrashPolicy

  // True if the process just ended, or hung. False for a fault that the device names, an illegal
  // address say: that proves the kernel guilty, even if it cost the process.
  bool unexplained() const;
};

// Decides what follows when the process that runs kernels dies: whether a kernel is tried again,
// whether it is charged, whether a device is set aside. It only counts; its owner acts.
class CrashPolicy {
 public:
  static constexpr int kMostDeaths = 2;  // of a kernel; then it is charged with the last one
  // A device is at fault if this many kernels in a row died on it and not on another device.
  static constexpr int kMostFalseDeaths = 3;
  // If this many trials in a row are charged, something other than the kernels is at fault.
  static constexpr int kMostChargedInARow = 8;

  // Whether to try `kernel` (a number that its owner gives it) again after it ended like this on
  // `device`: in a new process, and on another device if there is one. If not, `ended` has the
  // charge, if there is one. A process that was killed from outside charges nobody: it is tried
  // again until that is no longer bearable, which is a MachineError.
  bool tries_again(std::uint64_t kernel, Attempt& ended, std::size_t device = 0);
  // What a kernel is charged with that ran in the engine's own process when that died, `times`
  // times.
  static std::optional<Rejection> left_under_way(int times);
  // Notes that `kernel` ran to its end on `device`. Returns a device that is not to be trusted any
  // more, if there is one.
  std::optional<std::size_t> survived(std::uint64_t kernel, std::size_t device);
  // Notes the next trial, in the order of their numbers. Returns why the run is to be given up;
  // empty if it goes on.
  std::string settled(bool charged, const std::string& message);

 private:
  std::map<std::uint64_t, std::vector<std::size_t>> died_on_;  // by undecided kernel
  std::map<std::uint64_t, OutsideKills> kills_;                // by undecided kernel
  std::map<std::size_t, int> false_deaths_;                    // in a row, by device
  int charged_in_a_row_ = 0;
};

// Runs `attempt`, which takes one kernel through stages on the device. Waits first until the device
// is ready.
Attempt attempt_once(device::Device& device, const std::function<void()>& attempt);

// Repeats attempt_once() as often as CrashPolicy says, each time in a new process with no other
// kernel.
Attempt run_with_retry(device::Device& device, const std::function<void()>& attempt);

}  // namespace fa_tune::tuner
