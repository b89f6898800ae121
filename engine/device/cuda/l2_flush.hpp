#pragma once

#include <expected>

#include "engine/device/cuda/cuda_context.hpp"

namespace fa_tune::cuda {

// Leaves nothing of use in the second-level cache, by writing twice its size of other memory. What
// is timed next pays for its own misses, and for what of those writes it pushes out, as it would
// after any other kernel.
class L2Flush {
 public:
  // Allocates the memory the first time; a Fault if it is not there. False where the driver does
  // not tell the cache's size, and nothing can be flushed.
  std::expected<bool, Fault> prepare(CudaContext& context);
  // Puts a flush into the stream.
  std::expected<void, Fault> enqueue(CudaContext& context);

 private:
  OwnedMemory memory_;
  std::size_t words_ = 0;
};

}  // namespace fa_tune::cuda
