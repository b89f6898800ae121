#include "engine/device/cuda/clock_probe.hpp"

#include <algorithm>

namespace fa_tune::cuda {
namespace {

// For any GPU that tensor-core templates run on; the driver makes machine code of it.
constexpr const char* kPtx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry fa_tune_clock(.param .u64 mark)
{
  .reg .pred %p;
  .reg .b32 %r;
  .reg .b64 %d<3>;
  mov.u32 %r, %smid;
  setp.ne.u32 %p, %r, 0;
  @%p bra DONE;
  ld.param.u64 %d0, [mark];
  cvta.to.global.u64 %d0, %d0;
  mov.u64 %d1, %globaltimer;
  mov.u64 %d2, %clock64;
  st.global.u64 [%d0], %d1;
  st.global.u64 [%d0+8], %d2;
DONE:
  ret;
}
)";

struct Mark {
  std::uint64_t nanoseconds = 0;
  std::uint64_t cycles = 0;
};

// No GPU's clock is outside of these, and it tells a mark from what a kernel has written over it.
constexpr double kLeastMhz = 50;
constexpr double kMostMhz = 10'000;

}  // namespace

std::expected<ClockProbe, device::Fault> ClockProbe::make(CudaContext& context, int sms) {
  auto image = load_image(context, {BinaryKind::ptx, "sm_70", "fa_tune_clock", kPtx, {}});
  if (!image) return std::unexpected(image.error());
  ClockProbe probe;
  probe.image_ = std::move(*image);
  probe.config_.grid.x = static_cast<std::uint32_t>(sms);
  return probe;
}

std::expected<void, device::Fault> ClockProbe::begin(CudaContext& context, int marks) {
  constexpr std::size_t kLeast = 512;  // more than most plans have samples
  marks_ = 0;
  if (static_cast<std::size_t>(marks) <= room_) return {};
  const std::size_t wanted = std::max(kLeast, static_cast<std::size_t>(marks));
  room_ = 0;
  memory_ = OwnedMemory();
  DevicePointer pointer = 0;
  auto allocated =
      context.check(context->cuMemAlloc_v2(&pointer, wanted * sizeof(Mark)), "clock probe");
  if (!allocated) return allocated;
  memory_ = OwnedMemory(context, pointer);
  room_ = wanted;
  return {};
}

std::expected<void, device::Fault> ClockProbe::mark(CudaContext& context) {
  const DevicePointer at = memory_.get() + marks_ * sizeof(Mark);
  PreparedLaunch launch(image_.entries.front(), config_, {bytes_of(at)}, context.stream());
  ++marks_;
  return launch.enqueue(context);
}

std::expected<std::vector<double>, device::Fault> ClockProbe::read(CudaContext& context) {
  std::vector<Mark> marks(marks_);
  std::vector<double> mhz;
  if (marks.size() < 2) return mhz;
  auto sent =
      context.check(context->cuMemcpyDtoHAsync_v2(marks.data(), memory_.get(),
                                                  marks.size() * sizeof(Mark), context.stream()),
                    "clock probe");
  if (sent) sent = context.synchronize("clock probe");
  if (!sent) return std::unexpected(sent.error());
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const auto cycles = static_cast<double>(marks[i].cycles - marks[i - 1].cycles);
    const auto ns = static_cast<double>(marks[i].nanoseconds - marks[i - 1].nanoseconds);
    const double one = cycles / ns * 1000;
    const bool usable = one >= kLeastMhz && one <= kMostMhz;
    if (!usable) return std::vector<double>();
    mhz.push_back(one);
  }
  return mhz;
}

}  // namespace fa_tune::cuda
