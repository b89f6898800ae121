#include "engine/device/cuda/late_copy.hpp"

namespace fa_tune::cuda {
namespace {

// 30 us: a kernel behind it has begun by then, and read what it reads first. Then a stride of all
// threads over words of 16 bytes, or over bytes where an address or the size is no multiple of 16.
constexpr const char* kLateCopyPtx = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry fa_tune_late_copy(.param .u64 from, .param .u64 to, .param .u64 bytes)
{
  .reg .pred %p<3>;
  .reg .b16 %h<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<12>;
  griddepcontrol.launch_dependents;
  mov.u64 %d0, %globaltimer;
LATER:
  mov.u64 %d1, %globaltimer;
  sub.u64 %d1, %d1, %d0;
  setp.lt.u64 %p0, %d1, 30000;
  @%p0 bra LATER;
  griddepcontrol.wait;
  ld.param.u64 %d2, [from];
  ld.param.u64 %d3, [to];
  ld.param.u64 %d4, [bytes];
  cvta.to.global.u64 %d2, %d2;
  cvta.to.global.u64 %d3, %d3;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.lo.u32 %r3, %r3, %r1;
  cvt.u64.u32 %d5, %r0;
  cvt.u64.u32 %d6, %r3;
  or.b64 %d7, %d2, %d3;
  or.b64 %d7, %d7, %d4;
  and.b64 %d7, %d7, 15;
  setp.ne.u64 %p1, %d7, 0;
  @%p1 bra BYTES;
  shl.b64 %d5, %d5, 4;
  shl.b64 %d6, %d6, 4;
WORDS:
  setp.ge.u64 %p2, %d5, %d4;
  @%p2 bra DONE;
  add.u64 %d8, %d2, %d5;
  add.u64 %d9, %d3, %d5;
  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d8];
  st.global.v4.u32 [%d9], {%r4, %r5, %r6, %r7};
  add.u64 %d5, %d5, %d6;
  bra WORDS;
BYTES:
  setp.ge.u64 %p2, %d5, %d4;
  @%p2 bra DONE;
  add.u64 %d8, %d2, %d5;
  add.u64 %d9, %d3, %d5;
  ld.global.u8 %h0, [%d8];
  st.global.u8 [%d9], %h0;
  add.u64 %d5, %d5, %d6;
  bra BYTES;
DONE:
  ret;
}
)";

// Programmatic itself, so that the kernel behind several of them begins before the first has
// copied.
LaunchConfig few_blocks() {
  LaunchConfig config;
  config.grid.x = 32;
  config.block.x = 256;
  config.programmatic = true;
  return config;
}

}  // namespace

std::expected<void, device::Fault> LateCopy::prepare(CudaContext& context) {
  if (image_) return {};
  auto image =
      load_image(context, {BinaryKind::ptx, "sm_90", "fa_tune_late_copy", kLateCopyPtx, {}});
  if (!image) return std::unexpected(image.error());
  image_ = std::move(*image);
  return {};
}

std::expected<void, device::Fault> LateCopy::enqueue(CudaContext& context, DevicePointer from,
                                                     DevicePointer to, std::uint64_t bytes) {
  return PreparedLaunch(image_->entries.front(), few_blocks(),
                        {bytes_of(from), bytes_of(to), bytes_of(bytes)}, context.stream())
      .enqueue(context);
}

}  // namespace fa_tune::cuda
