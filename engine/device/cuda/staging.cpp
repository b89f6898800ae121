#include "engine/device/cuda/staging.hpp"

namespace fa_tune::cuda {

std::span<std::byte> Staging::take(CudaContext& context, std::size_t bytes) {
  if (bytes > kBytes) lock(context);
  if (bytes == 0 || bytes > kBytes) return {};
  if (!asked_) {
    asked_ = true;
    void* memory = nullptr;
    if (context->cuMemHostAlloc(&memory, kBytes, 0) == kSuccess)
      memory_ = OwnedHostMemory(context, memory);
  }
  if (memory_.get() == nullptr) return {};
  return {static_cast<std::byte*>(memory_.get()), bytes};
}

void Staging::lock(CudaContext& context) {
  if (to_lock_.empty()) return;
  if (context->cuMemHostRegister_v2(to_lock_.data(), to_lock_.size(), 0) == kSuccess)
    locked_ = LockedMemory(context, to_lock_.data());
  to_lock_ = {};
}

}  // namespace fa_tune::cuda
