#include "engine/gate/device_input_cache_ptx.hpp"

#include <fmt/core.h>

namespace fa_tune::gate::originals_ptx {
namespace {

// What all begin and end with: %d5 is which of all threads this one is, %d9 how many there are.
std::string kernel(const std::string& name, const std::string& parameters,
                   const std::string& body) {
  return ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry " + name + "(" +
         parameters +
         R"()
{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %d<20>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.lo.u32 %r3, %r3, %r1;
  cvt.u64.u32 %d5, %r0;
  cvt.u64.u32 %d9, %r3;
  mov.u64 %d8, %d5;
)" + body +
         R"(
DONE:
  ret;
}
)";
}

// Goes over `bytes` in words of 16, with a stride of all threads, then over what is left, a byte a
// thread. `word` and `byte` are what is done at offset %d4 from the places %d0 and %d1.
std::string over_bytes(const char* name, const char* word, const char* byte) {
  return kernel(name, ".param .u64 first, .param .u64 second, .param .u64 bytes, .param .u64 found",
                fmt::format(R"(  ld.param.u64 %d0, [first];
  ld.param.u64 %d1, [second];
  ld.param.u64 %d2, [bytes];
  ld.param.u64 %d3, [found];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d3, %d3;
  shr.u64 %d7, %d2, 4;
NEXT:
  setp.ge.u64 %p0, %d8, %d7;
  @%p0 bra REST;
  shl.b64 %d4, %d8, 4;
  add.u64 %d10, %d0, %d4;
  add.u64 %d11, %d1, %d4;
{}
  add.u64 %d8, %d8, %d9;
  bra NEXT;
REST:
  shl.b64 %d4, %d7, 4;
  add.u64 %d4, %d4, %d5;
  setp.ge.u64 %p0, %d4, %d2;
  @%p0 bra DONE;
  add.u64 %d10, %d0, %d4;
  add.u64 %d11, %d1, %d4;
{})",
                            word, byte));
}

constexpr const char* kCopyWord = R"(  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d10];
  st.global.v4.u32 [%d11], {%r4, %r5, %r6, %r7};)";
constexpr const char* kCopyByte = R"(  ld.global.u8 %r4, [%d10];
  st.global.u8 [%d11], %r4;)";

constexpr const char* kDifferWord = R"(  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d10];
  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d11];
  xor.b32 %r4, %r4, %r8;
  xor.b32 %r5, %r5, %r9;
  xor.b32 %r6, %r6, %r10;
  xor.b32 %r7, %r7, %r11;
  or.b32 %r4, %r4, %r5;
  or.b32 %r6, %r6, %r7;
  or.b32 %r4, %r4, %r6;
  setp.ne.u32 %p1, %r4, 0;
  @%p1 red.global.min.u64 [%d3], %d4;)";
constexpr const char* kDifferByte = R"(  ld.global.u8 %r4, [%d10];
  ld.global.u8 %r5, [%d11];
  setp.ne.u32 %p1, %r4, %r5;
  @%p1 red.global.min.u64 [%d3], %d4;)";

// Goes over `elements` with a stride of all threads: %d8 is which, the %d13-th of row %d12,
// which the list of u32 at %d1 calls another row; %d15 is the place of that number in that row, in
// bytes. `parameters` are all, `begin` reads those besides elements and length.
std::string over_elements(const char* name, const std::string& parameters, const char* begin,
                          const char* each) {
  return kernel(name, parameters + ".param .u64 elements, .param .u64 length",
                fmt::format(R"({}
  ld.param.u64 %d6, [elements];
  ld.param.u64 %d7, [length];
NEXT:
  setp.ge.u64 %p0, %d8, %d6;
  @%p0 bra DONE;
  div.u64 %d12, %d8, %d7;
  mul.lo.u64 %d13, %d12, %d7;
  sub.u64 %d13, %d8, %d13;
  shl.b64 %d14, %d12, 2;
  add.u64 %d14, %d1, %d14;
  ld.global.u32 %r4, [%d14];
  cvt.u64.u32 %d15, %r4;
  mad.lo.u64 %d15, %d15, %d7, %d13;
  shl.b64 %d15, %d15, 1;
{}
  add.u64 %d8, %d8, %d9;
  bra NEXT;)",
                            begin, each));
}

constexpr const char* kLimitsParameters =
    ".param .u64 values, .param .u64 range_of_row, .param .u64 least, .param .u64 most, "
    ".param .u64 found, ";
constexpr const char* kLimitsBegin = R"(  ld.param.u64 %d0, [values];
  ld.param.u64 %d1, [range_of_row];
  ld.param.u64 %d2, [least];
  ld.param.u64 %d3, [most];
  ld.param.u64 %d4, [found];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d2, %d2;
  cvta.to.global.u64 %d3, %d3;
  cvta.to.global.u64 %d4, %d4;)";
// A number as an integer that is larger where the number is: all but the sign turned over in those
// below zero.
constexpr const char* kLimitsEach = R"(  add.u64 %d16, %d2, %d15;
  add.u64 %d17, %d3, %d15;
  ld.global.s16 %r5, [%d16];
  ld.global.s16 %r6, [%d17];
  shl.b64 %d18, %d8, 1;
  add.u64 %d18, %d0, %d18;
  ld.global.s16 %r7, [%d18];
  shr.s32 %r8, %r7, 15;
  and.b32 %r8, %r8, 0x7fff;
  xor.b32 %r7, %r7, %r8;
  setp.lt.s32 %p1, %r7, %r5;
  setp.gt.or.s32 %p1, %r7, %r6, %p1;
  @%p1 red.global.min.u64 [%d4], %d8;)";

constexpr const char* kRowsParameters = ".param .u64 values, .param .u64 rows, .param .u64 to, ";
constexpr const char* kRowsBegin = R"(  ld.param.u64 %d0, [values];
  ld.param.u64 %d1, [rows];
  ld.param.u64 %d2, [to];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d2, %d2;)";
constexpr const char* kRowsEach = R"(  add.u64 %d15, %d0, %d15;
  ld.global.u16 %r5, [%d15];
  shl.b64 %d16, %d8, 1;
  add.u64 %d16, %d2, %d16;
  st.global.u16 [%d16], %r5;)";

}  // namespace

std::string copy() { return over_bytes("fa_tune_copy", kCopyWord, kCopyByte); }
std::string differ() { return over_bytes("fa_tune_differ", kDifferWord, kDifferByte); }
std::string limits() {
  return over_elements("fa_tune_limits", kLimitsParameters, kLimitsBegin, kLimitsEach);
}
std::string rows() { return over_elements("fa_tune_rows", kRowsParameters, kRowsBegin, kRowsEach); }

}  // namespace fa_tune::gate::originals_ptx
