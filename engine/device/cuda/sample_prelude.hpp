#pragma once

#include <chrono>
#include <expected>
#include <optional>

#include "engine/device/cuda/cuda_launch.hpp"

// What goes into the stream ahead of a sample, outside the events that time it.

namespace fa_tune::cuda {

// Leaves nothing of use in the second-level cache, by writing twice its size of other memory. What
// is timed next pays for its own misses, and for the writes that it pushes out, as it would
// after any other kernel.
class L2Flush {
 public:
  // Allocates the memory the first time; a Fault if it is not there. False where the driver does
  // not tell the cache's size, and nothing can be flushed.
  std::expected<bool, device::Fault> prepare(CudaContext& context);
  // Puts a flush into the stream.
  std::expected<void, device::Fault> enqueue(CudaContext& context);

 private:
  OwnedMemory memory_;
  std::size_t words_ = 0;
};

// Keeps the GPU busy for so long that the host has submitted what follows: a kernel of one thread
// that looks at the GPU's clock of nanoseconds until they are over. Without it a GPU that has
// nothing else to do begins with a sample while the host is still about it, and the sample is the
// host's time.
class Lead {
 public:
  // Has the driver compile the kernel the first time. A Fault means that the context is lost: on a
  // GPU that cannot have it enqueue() does nothing.
  std::expected<void, device::Fault> prepare(CudaContext& context);
  // Puts it into the stream.
  std::expected<void, device::Fault> enqueue(CudaContext& context,
                                             std::chrono::nanoseconds lasting);

 private:
  bool tried_ = false;
  std::optional<LoadedImage> image_;
};

}  // namespace fa_tune::cuda
