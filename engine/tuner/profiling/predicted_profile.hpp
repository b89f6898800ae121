#pragma once

#include <string>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/report/profile.hpp"

namespace fa_tune::tuner {

// The profile that the emulator's model gives for a launch (Timing::detail_json), with its limit.
// `model` is the device profile that was emulated.
report::Profile predicted_profile(const device::Timing& timing, const device::DeviceInfo& device,
                                  const device::DeviceProfile& model);

}  // namespace fa_tune::tuner
