#pragma once

#include <chrono>
#include <expected>
#include <optional>

#include "engine/device/cuda/cuda_launch.hpp"

namespace fa_tune::cuda {

// Keeps the GPU busy for so long that the host has submitted what follows: a kernel of one thread
// that looks at the GPU's clock of nanoseconds until they are over. Without it a GPU that has
// nothing else to do begins with a sample while the host is still about it, and the sample is the
// host's time.
class Lead {
 public:
  // Has the driver compile the kernel the first time. A Fault means that the context is lost: on a
  // GPU that cannot have it enqueue() does nothing.
  std::expected<void, Fault> prepare(CudaContext& context);
  // Puts it into the stream.
  std::expected<void, Fault> enqueue(CudaContext& context, std::chrono::nanoseconds lasting);

 private:
  bool tried_ = false;
  std::optional<LoadedKernel> kernel_;
};

}  // namespace fa_tune::cuda
