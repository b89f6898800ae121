#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/profile.hpp"

// The time of several steps, from those of each. On a GPU one begins when the one before is over,
// so times add up, what each takes to be launched with them.

namespace fa_tune::device {

struct StepTime {
  std::string name;  // the kernel's, "set" or "copy"
  double us = 0;
  emulator::Interval90 interval;
  std::string detail_json;  // as emulator::Prediction has it
};

// Of a step that sets or copies memory. `bytes`: that it reads and writes.
StepTime time_of_move(const std::string& name, std::size_t bytes, const DeviceProfile& profile);

// Of all together: errors of several are taken for those of one, so that the ends add up.
emulator::Interval90 interval_of_steps(const std::vector<StepTime>& steps);

// Like the detail of one kernel: units, waits, counters and conflicts of all of them together,
// occupancy, what bounds it and what its interval rests on of the step that takes longest. `steps`
// has the detail of each.
std::string detail_of_steps(const std::vector<StepTime>& steps);

}  // namespace fa_tune::device
