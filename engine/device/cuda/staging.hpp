#pragma once

#include <cstddef>
#include <span>

#include "engine/device/cuda/cuda_context.hpp"

namespace fa_tune::cuda {

// Memory of this process that the driver has locked, through which copies go: from any other it
// locks the pages, or copies on its own account, anew each time, and then waits for the GPU.
class Staging {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 20;

  // Memory for that many bytes, locked the first time; it is this object's. Empty if they are
  // none, or more than kBytes, or the driver has none to give.
  std::span<std::byte> take(CudaContext& context, std::size_t bytes);

 private:
  OwnedHostMemory memory_;
  bool asked_ = false;
};

}  // namespace fa_tune::cuda
