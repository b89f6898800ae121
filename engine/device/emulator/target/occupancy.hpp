#pragma once

#include <string>

#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

// How many CTAs of a kernel an SM holds at once, and what limits it.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  std::string limited_by;  // "registers", "shared memory", "threads", "blocks", "grid"
};

Occupancy occupancy(const DeviceProfile& profile, const KernelResources& resources,
                    const LaunchConfig& launch);

}  // namespace fa_tune::emulator
