#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::tuner {

// The peak rates of a device with warm caches, by its profile.
struct Ceilings {
  double flop_per_us = 0;        // of the tensor cores
  double l2_bytes_per_us = 0;    // all SMs reading at once
  double port_bytes_per_us = 0;  // what the SMs' ports could take in if L2 gave it
  double dram_bytes_per_us = 0;
};

// `tensor_speed`: the tensor cores' speed relative to the profile's, which is that on 16-bit
// elements.
Ceilings ceilings(const device::DeviceProfile& profile, int sms, double tensor_speed = 1);

// A lower bound of a correct kernel's time on a device, from the least work that a shape needs and
// the peak rates of the device's profile. A kernel that is faster did not do the work, or the clock
// is wrong.
struct Roofline {
  double us = 0;
  std::string because;  // "0.54 GFLOP at 1071 TFLOP/s (profile h100, 132 SMs)"

  friend bool operator==(const Roofline&, const Roofline&) = default;
};

// The larger of two times: of the tensor cores' operations, and of the bytes that an SM's port to
// L2 takes in (in a warm L2 nothing need come from DRAM). A quarter is taken off, for clocks above
// the one that a profile gives.
Roofline roofline(const device::DeviceProfile& profile, int sms, double flop, double bytes,
                  double tensor_speed = 1);

// The profile of the GPU that a device is or emulates: `target` if it is that GPU; else the shipped
// one of that model, or with that architecture and number of SMs; else profile_of_device.
std::optional<device::DeviceProfile> profile_of(const device::DeviceInfo& device,
                                                const device::DeviceProfile& target,
                                                const std::filesystem::path& root);

// The roofline of a problem's timed shape; nothing if no profile is known.
std::optional<Roofline> roofline_of(const problem::Problem& problem,
                                    const device::DeviceInfo& device,
                                    const device::DeviceProfile& target);

}  // namespace fa_tune::tuner
