#include "engine/device/cuda/l2_flush.hpp"

namespace fa_tune::cuda {

std::expected<void, Fault> L2Flush::prepare(CudaContext& context) {
  constexpr std::size_t kTimes = 2;
  if (words_ > 0) return {};
  int bytes = 0;
  auto asked = context.check(
      context->cuDeviceGetAttribute(&bytes, device_l2_cache_size, context.device()), "L2 flush");
  if (!asked) return asked;
  if (bytes <= 0)
    return std::unexpected(
        Fault{FaultKind::resources, "L2 flush: the driver does not tell the cache's size"});
  const std::size_t words = kTimes * static_cast<std::size_t>(bytes) / sizeof(std::uint32_t);
  DevicePointer pointer = 0;
  auto allocated =
      context.check(context->cuMemAlloc_v2(&pointer, words * sizeof(std::uint32_t)), "L2 flush");
  if (!allocated) return allocated;
  memory_ = OwnedMemory(context, pointer);
  words_ = words;
  return {};
}

std::expected<void, Fault> L2Flush::enqueue(CudaContext& context) {
  return context.check(context->cuMemsetD32Async(memory_.get(), 0, words_, context.stream()),
                       "L2 flush");
}

}  // namespace fa_tune::cuda
