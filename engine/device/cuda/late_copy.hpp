#pragma once

#include <expected>
#include <optional>

#include "engine/device/cuda/cuda_launch.hpp"

namespace fa_tune::cuda {

// Copies by a kernel that lets the one behind it begin at once and then takes its time. A
// programmatic launch behind it that does not wait for the grids before it reads what was there
// before: behind a memory copy it would be held back by the driver, and nobody would see.
class LateCopy {
 public:
  // Has the driver compile the kernel the first time.
  std::expected<void, device::Fault> prepare(CudaContext& context);
  // Puts one into the stream.
  std::expected<void, device::Fault> enqueue(CudaContext& context, DevicePointer from,
                                             DevicePointer to, std::uint64_t bytes);

 private:
  std::optional<LoadedImage> image_;
};

}  // namespace fa_tune::cuda
