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

  // Memory of another that large copies go through and that outlives this. It is locked when the
  // first of them comes, if the driver can: what need not be staged then goes at the bus's speed.
  void lock_for_large(std::span<std::byte> memory) { to_lock_ = memory; }

 private:
  void lock(CudaContext& context);

  std::span<std::byte> to_lock_;
  LockedMemory locked_;
  OwnedHostMemory memory_;
  bool asked_ = false;
};

}  // namespace fa_tune::cuda
