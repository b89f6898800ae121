#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// What a device can do at most with warm caches, by its profile.
struct Ceilings {
  double flop_per_us = 0;        // of the tensor cores
  double l2_bytes_per_us = 0;    // all SMs reading at once
  double port_bytes_per_us = 0;  // what the SMs' ports could take in if L2 gave it
  double dram_bytes_per_us = 0;
};

// `tensor_speed`: of the tensor cores against a profile's, which is that on 16-bit elements.
Ceilings ceilings(const DeviceProfile& profile, int sms, double tensor_speed = 1);

// The time that no right kernel can fall short of on a device, from what a shape needs at least and
// what the device's profile says it can do at most. Whatever is faster did not do the work, or the
// clock is wrong.
struct Roofline {
  double us = 0;
  std::string because;  // "0.54 GFLOP at 1071 TFLOP/s (profile h100, 132 SMs)"
};

// The most is meant: the dearer of the tensor cores' operations and of what an SM's port to L2
// takes in, since in a warm L2 nothing need come from DRAM. With a quarter off, for clocks above
// the one that a profile gives.
Roofline roofline(const DeviceProfile& profile, int sms, double flop, double bytes,
                  double tensor_speed = 1);

// The profile of the GPU that a device is or emulates: `target` if that is it, by model, or by
// architecture and SMs where no shipped one is of the model; else profile_of_device.
std::optional<DeviceProfile> profile_of(const DeviceInfo& device, const DeviceProfile& target,
                                        const std::filesystem::path& root);

// Of a problem's timed shape; nothing where no profile is known.
std::optional<Roofline> roofline_of(const Problem& problem, const DeviceInfo& device,
                                    const DeviceProfile& target);

}  // namespace fa_tune
