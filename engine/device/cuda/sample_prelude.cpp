#include "engine/device/cuda/sample_prelude.hpp"

namespace fa_tune::cuda {
namespace {

constexpr const char* kLeadPtx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry fa_tune_lead(.param .u64 lasting)
{
  .reg .pred %p;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [lasting];
  mov.u64 %d1, %globaltimer;
AGAIN:
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p, %d3, %d0;
  @%p bra AGAIN;
  ret;
}
)";

}  // namespace

std::expected<bool, device::Fault> L2Flush::prepare(CudaContext& context) {
  constexpr std::size_t kTimes = 2;
  if (words_ > 0) return true;
  int bytes = 0;
  auto asked = context.check(
      context->cuDeviceGetAttribute(&bytes, kDeviceL2CacheSize, context.device()), "L2 flush");
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

std::expected<void, device::Fault> L2Flush::enqueue(CudaContext& context) {
  return context.check(context->cuMemsetD32Async(memory_.get(), 0, words_, context.stream()),
                       "L2 flush");
}

std::expected<void, device::Fault> Lead::prepare(CudaContext& context) {
  if (tried_) return {};
  tried_ = true;
  auto image = load_image(context, {BinaryKind::ptx, "sm_70", "fa_tune_lead", kLeadPtx, {}});
  if (image)
    image_ = std::move(*image);
  else if (context.lost())
    return std::unexpected(image.error());
  return {};
}

std::expected<void, device::Fault> Lead::enqueue(CudaContext& context,
                                                 std::chrono::nanoseconds lasting) {
  if (!image_) return {};
  const auto count = static_cast<std::uint64_t>(lasting.count());
  return PreparedLaunch(image_->entries.front(), {}, {bytes_of(count)}, context.stream())
      .enqueue(context);
}

}  // namespace fa_tune::cuda
