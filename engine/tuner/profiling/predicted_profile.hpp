#pragma once

#include <string>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/report/profile.hpp"

namespace fa_tune {

// The profile that the emulator's model gives for a launch (Timing::detail_json), with its limit.
// `model` is the device profile that was emulated.
Profile predicted_profile(const Timing& timing, const DeviceInfo& device,
                          const DeviceProfile& model);

}  // namespace fa_tune
