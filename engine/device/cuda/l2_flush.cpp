#include "engine/device/cuda/l2_flush.hpp"

namespace fa_tune::cuda {

std::expected<bool, Fault> L2Flush::prepare(CudaContext& context) {
  constexpr std::size_t kTimes = 2;
  if (words_ > 0) return true;
  int bytes = 0;
  auto asked = context.check(
      context->cuDeviceGetAttribute(&bytes, device_l2_cache_size, context.device()), "L2 flush");
  if (!asked) return std::unexpected(asked.error());
  if (bytes <= 0) return false;
  const std::size_t words = kTimes * static_cast<std::size_t>(bytes) / sizeof(std::uint32_t);
  DevicePointer pointer = 0;
  auto allocated =
      context.check(context->cuMemAlloc_v2(&pointer, words * sizeof(std::uint32_t)), "L2 flush");
  if (!allocated) return std::unexpected(allocated.error());
  memory_ = OwnedMemory(context, pointer);
  words_ = words;
  return true;
}

std::expected<void, Fault> L2Flush::enqueue(CudaContext& context) {
  return context.check(context->cuMemsetD32Async(memory_.get(), 0, words_, context.stream()),
                       "L2 flush");
}

}  // namespace fa_tune::cuda
