#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/cuda/driver_api.hpp"

namespace fa_tune::cuda {

// What NVIDIA's management library says of a GPU at one moment; 0 where it says nothing.
struct GpuReading {
  double watts = 0;                 // on newer GPUs a mean over the last second
  double celsius = 0;               // of the die
  std::uint64_t clock_reasons = 0;  // nvmlClocksEventReasons: what holds the clock down
};

// The reasons by name, in the order of their bits; idleness and settings are none.
std::vector<std::string> names_of(std::uint64_t clock_reasons);
// Whether one of them slows the clock for a while only, so that the next kernel may not meet it:
// heat, or a brake. The power limit alone is none: under full load it holds a GPU's clock a few
// percent down for as long as the load lasts, for the user of a kernel as for us.
bool is_slowdown(std::uint64_t clock_reasons);
// Whether the power limit is one of them.
bool is_power_limit(std::uint64_t clock_reasons);

// libnvidia-ml.so.1, which comes with the driver, opened at run time: it is a GPU's only source of
// power and temperature, and nothing here depends on it.
class Nvml {
 public:
  // For one GPU of the driver. Opens what the environment variable FA_TUNE_LIBNVML names, if it is
  // set. The error says in one line why there are no readings. The library is never closed.
  static std::expected<std::unique_ptr<Nvml>, std::string> open(const DriverApi& driver,
                                                                DeviceOrdinal device);

  // Takes some tens of microseconds.
  GpuReading read() const;
  // Since the driver was loaded; nothing on GPUs that do not count it (before Volta).
  std::optional<double> joules() const;

 private:
  using Code = int;                      // nvmlReturn_t
  using Handle = struct NvmlDeviceTag*;  // nvmlDevice_t

  Nvml() = default;

  Handle device_ = nullptr;
  Code (*power_)(Handle, unsigned* milliwatts) = nullptr;
  Code (*temperature_)(Handle, int sensor, unsigned* celsius) = nullptr;
  Code (*energy_)(Handle, unsigned long long* millijoules) = nullptr;
  Code (*reasons_)(Handle, unsigned long long* reasons) = nullptr;
};

}  // namespace fa_tune::cuda
