#include "engine/device/cuda/staging.hpp"

namespace fa_tune::cuda {

std::span<std::byte> Staging::take(CudaContext& context, std::size_t bytes) {
  if (bytes == 0 || bytes > kBytes) return {};
  if (!asked_) {
    asked_ = true;
    void* memory = nullptr;
    if (context->cuMemHostAlloc(&memory, kBytes, 0) == success)
      memory_ = OwnedHostMemory(context, memory);
  }
  if (memory_.get() == nullptr) return {};
  return {static_cast<std::byte*>(memory_.get()), bytes};
}

}  // namespace fa_tune::cuda
