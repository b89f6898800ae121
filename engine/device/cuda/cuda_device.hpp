#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "engine/device/device.hpp"

namespace fa_tune::cuda {

struct CudaOptions {
  // How long one launch, one copy or one sample of a timing may take.
  std::chrono::milliseconds deadline{10'000};
  // How many of the GPU's SMs kernels may use, which is also what info() names; 0: all.
  int sms = 0;
};

// GPU number `index` of the driver. Throws MachineError as load_driver does, or where there is no
// such GPU, or it gives no part of options.sms SMs (sm_partition.hpp). Beyond what Device promises:
// PTX is taken as well as cubins (the driver compiles it); handles and ranges that are not the
// device's own throw std::out_of_range; on a lost device allocate gives a handle to nothing, so
// that the loss is heard from the next call that can tell it.
std::unique_ptr<device::Device> open_cuda(int index, const CudaOptions& options = {});

// What each GPU is, without making a context on it. Empty where there is no driver. Never throws.
std::vector<device::DeviceInfo> list_cuda();

}  // namespace fa_tune::cuda
