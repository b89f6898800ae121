#pragma once

#include <string>

#include "engine/base/kernel_image.hpp"
#include "engine/device/emulator/counters.hpp"
#include "engine/device/profile.hpp"

namespace fa_tune::emulator {

// How many CTAs of a kernel an SM holds at once, and what limits it.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  std::string limited_by;  // "registers", "shared memory", "threads", "blocks", "grid"
};

Occupancy occupancy(const DeviceProfile& profile, const KernelResources& resources,
                    const LaunchConfig& launch);

struct Prediction {
  double us = 0;
  std::string bound_by;     // "tensor", "shared memory", "issue", "latency", "dram", "launch", ...
  std::string detail_json;  // occupancy, the time each pipe alone would take, the counters
};

// A time from counts of the whole grid. The model is described in timing_model.cpp; its figures are
// first estimates from public rates, and are stored and shown as predictions only.
Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Counters& counters);

}  // namespace fa_tune::emulator
