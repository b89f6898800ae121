#pragma once

#include "engine/device/device.hpp"

namespace fa_tune {

// Runs a small kernel whose results are known. Throws MachineError where the device does not come
// to them: it is what a driver or a GPU can be after a kernel that had to be killed. A device that
// takes no PTX of anybody's is asked for a copy there and back alone.
void check_health(Device& device);

}  // namespace fa_tune
