#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"

namespace fa_tune::device {

inline constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// The emulator as a device, with the limits, the arithmetic and the predicted times of `profile`.
// Takes PTX. `threads`: hardware threads that run CTAs, 0 for all there are. Never says
// device_lost: a fault ends a launch and nothing else. `instructions`: of warps, for all launches
// together, where a product of tensor cores counts for those that take as long; the launch that
// uses them up ends as FaultKind::unfinished. They are counted alike on every machine,
// however busy.
std::unique_ptr<Device> open_emulator(const DeviceProfile& profile, int threads = 0,
                                      std::uint64_t instructions = kNoEnd);

}  // namespace fa_tune::device
