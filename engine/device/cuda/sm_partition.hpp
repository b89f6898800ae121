#pragma once

#include <memory>
#include <string>

#include "engine/device/cuda/driver_api.hpp"

namespace fa_tune::cuda {

// Some SMs of a GPU, and a context whose kernels run on these alone: a green context (CUDA driver
// API, "Green Contexts"; drivers from CUDA 12.4 on). L2, memory and clocks stay those of the whole
// GPU. The GPU's primary context must be retained for as long.
class SmPartition {
 public:
  // Throws MachineError where the driver or the GPU gives no partition of exactly `sms` SMs: from
  // compute capability 9.0 on they come in twos, from 8 on.
  SmPartition(std::shared_ptr<const DriverApi> api, int index, DeviceOrdinal device, int sms);
  ~SmPartition();
  SmPartition(const SmPartition&) = delete;
  SmPartition& operator=(const SmPartition&) = delete;

  Context context() const { return context_; }

 private:
  std::shared_ptr<const DriverApi> api_;
  GreenContext green_ = nullptr;
  Context context_ = nullptr;
};

}  // namespace fa_tune::cuda
