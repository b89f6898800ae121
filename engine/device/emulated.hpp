#pragma once

#include <chrono>
#include <memory>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"

namespace fa_tune {

// The emulator as a device, with the limits, the arithmetic and the predicted times of `profile`.
// Takes PTX. `threads`: hardware threads that run CTAs, 0 for all there are. Never says
// device_lost: a fault ends a launch and nothing else. `until`: then launches begin no more CTAs
// and end as timeouts, unless something else was against them before.
std::unique_ptr<Device> open_emulator(
    const DeviceProfile& profile, int threads = 0,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

}  // namespace fa_tune
