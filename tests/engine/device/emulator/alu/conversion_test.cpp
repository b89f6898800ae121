#include <bit>
#include <cmath>

#include <doctest/doctest.h>

#include "tests/engine/device/emulator/support.hpp"

// Conversions, comparisons, selections and moves, against values from the PTX ISA.

namespace fa_tune::test {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 f(float value) { return std::bit_cast<u32>(value); }
u64 d(double value) { return std::bit_cast<u64>(value); }

// All lanes run `text` on %h1.., %r1.., %l1.. and leave the result in %l0.
u64 eval(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0) {
  const std::string body =
      ".reg .b16 %h<6>; .reg .b32 %r<6>; .reg .b64 %l<8>; .reg .pred %p<6>;\n"
      "ld.param.u64 %l4, [out]; ld.param.u64 %l1, [a]; ld.param.u64 %l2, [b];\n"
      "ld.param.u64 %l3, [c]; cvt.u32.u64 %r1, %l1; cvt.u32.u64 %r2, %l2; cvt.u32.u64 %r3, %l3;\n"
      "cvt.u16.u64 %h1, %l1; cvt.u16.u64 %h2, %l2; cvt.u16.u64 %h3, %l3;\n" +
      text + "\nst.global.u64 [%l4], %l0;";
  Bench bench(kernel(".param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c", body));
  bench.launch.arguments = {bench.buffer, raw(a), raw(b), raw(c)};
  const auto outcome = bench.run();
  INFO(text);
  const std::string message = outcome ? "" : outcome.error().message;
  REQUIRE(message == "");
  const std::vector<u32> words = bench.words();
  return u64{words[1]} << 32 | words[0];
}
// ... in %r0, %h0 or %p0.
u64 eval32(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0) {
  return eval(text + " cvt.u64.u32 %l0, %r0;", a, b, c);
}
u64 eval16(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0) {
  return eval(text + " cvt.u64.u16 %l0, %h0;", a, b, c);
}
bool holds(const std::string& text, u64 a = 0, u64 b = 0, u64 c = 0) {
  return eval(text + " selp.u64 %l0, 1, 0, %p0;", a, b, c) == 1;
}

}  // namespace

TEST_CASE("conversions between integers extend and cut") {
  CHECK(eval32("cvt.s32.s8 %r0, %r1;", 0x1ff) == 0xffffffffU);
  CHECK(eval32("cvt.u32.u8 %r0, %r1;", 0x1ff) == 0xff);
  CHECK(eval("cvt.s64.s32 %l0, %r1;", 0x80000000) == 0xffffffff80000000U);
  CHECK(eval("cvt.u64.u32 %l0, %r1;", 0x80000000) == 0x80000000U);
  // Of a wider register the low bits are taken.
  CHECK(eval("cvt.s64.s32 %l0, %l1;", 0x1234567880000001U) == 0xffffffff80000001U);
  CHECK(eval("cvt.u64.u32 %l0, %l1;", 0x1234567880000001U) == 0x80000001U);
  CHECK(eval("cvt.s64.s16 %l0, %l1;", 0x1234567812348001U) == 0xffffffffffff8001U);
  CHECK(eval16("cvt.s16.s8 %h0, %r1;", 0x80) == 0xff80);
  CHECK(eval32("cvt.s16.s32 %r0, %r1;", 0x12348000) == 0xffff8000U);
  CHECK(eval32("cvt.sat.u8.s32 %r0, %r1;", 300) == 255);
  CHECK(eval32("cvt.sat.s8.s32 %r0, %r1;", u64(u32(-300))) == 0xffffff80U);
  CHECK(eval32("cvt.sat.u32.s64 %r0, %l1;", ~u64{0}) == 0);
  CHECK(eval32("cvt.sat.s32.u64 %r0, %l1;", ~u64{0}) == 0x7fffffffU);
}

TEST_CASE("conversions from reals to integers round as told and clamp") {
  CHECK(eval32("cvt.rni.s32.f32 %r0, %r1;", f(2.5F)) == 2);
  CHECK(eval32("cvt.rni.s32.f32 %r0, %r1;", f(-3.5F)) == u32(-4));
  CHECK(eval32("cvt.rzi.s32.f32 %r0, %r1;", f(-2.9F)) == u32(-2));
  CHECK(eval32("cvt.rmi.s32.f32 %r0, %r1;", f(-2.1F)) == u32(-3));
  CHECK(eval32("cvt.rpi.u32.f32 %r0, %r1;", f(2.1F)) == 3);
  CHECK(eval32("cvt.rzi.s32.f32 %r0, %r1;", f(3e9F)) == 0x7fffffffU);
  CHECK(eval32("cvt.rzi.u32.f32 %r0, %r1;", f(-5)) == 0);
  CHECK(eval32("cvt.rni.s32.f32 %r0, %r1;", f(NAN)) == 0);
  CHECK(eval("cvt.rzi.s64.f64 %l0, %l1;", d(-1e15)) == u64(-1000000000000000));
  CHECK(eval("cvt.rzi.u64.f32 %l0, %r1;", f(1e30F)) == ~u64{0});
  CHECK(eval32("cvt.rni.s32.f16 %r0, %h1;", 0xc500) == u32(-5));
  CHECK(eval32("cvt.rzi.s8.f32 %r0, %r1;", f(-200)) == 0xffffff80U);
}

TEST_CASE("conversions to reals round once") {
  CHECK(eval32("cvt.rn.f32.s32 %r0, %r1;", 0x7fffffff) == f(0x1p31F));
  CHECK(eval32("cvt.rz.f32.s32 %r0, %r1;", 0x7fffffff) == 0x4effffffU);
  CHECK(eval32("cvt.rn.f32.u32 %r0, %r1;", 0xffffffff) == f(0x1p32F));
  CHECK(eval32("cvt.rn.f32.s64 %r0, %l1;", (u64{1} << 62) + (u64{1} << 38) + 1) == 0x5e800001U);
  CHECK(eval32("cvt.rz.f32.u64 %r0, %l1;", ~u64{0}) == 0x5f7fffffU);
  CHECK(eval("cvt.rn.f64.s64 %l0, %l1;", u64(-3)) == d(-3));
  CHECK(eval("cvt.f64.f32 %l0, %r1;", f(1.5F)) == d(1.5));
  CHECK(eval32("cvt.rn.f32.f64 %r0, %l1;", d(1 + 0x1p-24 + 0x1p-50)) == 0x3f800001U);
  CHECK(eval32("cvt.rm.f32.f64 %r0, %l1;", d(-1 - 0x1p-40)) == 0xbf800001U);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(65519)) == 0x7bff);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(65520)) == 0x7c00);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(0x1p-25F)) == 0);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(0x1.8p-25F)) == 1);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(-0.1F)) == 0xae66);
  CHECK(eval16("cvt.rn.f16.f32 %h0, %r1;", f(NAN)) == 0x7fff);
  CHECK(eval16("cvt.rz.f16.f32 %h0, %r1;", f(1e6F)) == 0x7bff);
  CHECK(eval16("cvt.rp.f16.f32 %h0, %r1;", f(1 + 0x1p-20F)) == 0x3c01);
  CHECK(eval16("cvt.rn.f16.f64 %h0, %l1;", d(1 + 0x1p-11 + 0x1p-40)) == 0x3c01);
  CHECK(eval16("cvt.rn.f16.s32 %h0, %r1;", 2049) == 0x6800);
  CHECK(eval16("cvt.rn.bf16.f32 %h0, %r1;", 0x3f808000) == 0x3f80);
  CHECK(eval16("cvt.rn.bf16.f32 %h0, %r1;", 0x3f818000) == 0x3f82);
  CHECK(eval16("cvt.rn.relu.f16.f32 %h0, %r1;", f(-2)) == 0);
  CHECK(eval16("cvt.rn.sat.f16.f32 %h0, %r1;", f(7)) == 0x3c00);
  CHECK(eval32("cvt.f32.f16 %r0, %h1;", 0x0001) == f(0x1p-24F));
  CHECK(eval32("cvt.f32.f16 %r0, %h1;", 0xfc00) == f(-INFINITY));
  CHECK(eval32("cvt.f32.f16 %r0, %h1;", 0x7e00) == 0x7fffffffU);
  CHECK(eval32("cvt.f32.bf16 %r0, %h1;", 0x3fc0) == f(1.5F));
  CHECK(eval32("cvt.rni.f32.f32 %r0, %r1;", f(2.5F)) == f(2));
  CHECK(eval32("cvt.rmi.ftz.f32.f32 %r0, %r1;", f(-0.5F)) == f(-1));
  CHECK(eval32("cvt.sat.f32.f32 %r0, %r1;", f(-3)) == 0);
  CHECK(eval32("cvt.rn.f16x2.f32 %r0, %r1, %r2;", f(1), f(2)) == 0x3c004000U);
  CHECK(eval32("cvt.rz.f16x2.f32 %r0, %r1, %r2;", f(1e6F), f(2)) == 0x7bff4000U);
  CHECK(eval32("cvt.rn.bf16x2.f32 %r0, %r1, %r2;", f(1), f(2)) == 0x3f804000U);
  CHECK(eval32("cvt.rna.tf32.f32 %r0, %r1;", 0x3f801000) == 0x3f802000U);
}

TEST_CASE("comparisons combine with predicates") {
  CHECK(holds("setp.lt.s32 %p0, %r1, %r2;", 0xffffffff, 0));
  CHECK_FALSE(holds("setp.lt.u32 %p0, %r1, %r2;", 0xffffffff, 0));
  CHECK(holds("setp.hi.u32 %p0, %r1, %r2;", 0xffffffff, 0));
  CHECK(holds("setp.ge.s64 %p0, %l1, %l2;", 5, 5));
  CHECK(holds("setp.ne.s16 %p0, %h1, %h2;", 1, 2));
  CHECK_FALSE(holds("setp.lt.f32 %p0, %r1, %r2;", f(NAN), f(1)));
  CHECK(holds("setp.ltu.f32 %p0, %r1, %r2;", f(NAN), f(1)));
  CHECK_FALSE(holds("setp.ne.f32 %p0, %r1, %r2;", f(NAN), f(1)));
  CHECK(holds("setp.neu.f32 %p0, %r1, %r2;", f(NAN), f(1)));
  CHECK(holds("setp.nan.f32 %p0, %r1, %r2;", f(1), f(NAN)));
  CHECK(holds("setp.num.f64 %p0, %l1, %l2;", d(1), d(2)));
  CHECK(holds("setp.eq.ftz.f32 %p0, %r1, %r2;", 1, 0));
  CHECK_FALSE(holds("setp.eq.f32 %p0, %r1, %r2;", 1, 0));
  CHECK(holds("setp.gt.f16 %p0, %h1, %h2;", 0x3c00, 0xbc00));
  CHECK(holds("setp.gt.bf16 %p0, %h1, %h2;", 0x3f80, 0xbf80));
  CHECK(holds("setp.lt.s32 %p1|%p0, %r1, %r2;", 3, 2));
  CHECK(holds("setp.eq.s32 %p1, %r1, 3; setp.eq.and.s32 %p0, %r2, 2, %p1;", 3, 2));
  CHECK_FALSE(holds("setp.eq.s32 %p1, %r1, 3; setp.eq.and.s32 %p0, %r2, 2, !%p1;", 3, 2));
  CHECK(holds("setp.eq.s32 %p1, %r1, 3; setp.eq.or.s32 %p0, %r2, 9, %p1;", 3, 2));
  CHECK(holds("setp.eq.s32 %p1, %r1, 4; setp.eq.xor.s32 %p0, %r2, 2, %p1;", 3, 2));
  // The second result of a combined comparison is of the comparison's opposite.
  CHECK(holds("setp.eq.s32 %p1, %r1, 3; setp.eq.and.s32 %p2|%p0, %r2, 9, %p1;", 3, 2));
  CHECK(holds("setp.gt.f16x2 %p0|%p1, %r1, %r2;", 0x00003c00, 0x00000000));
  CHECK_FALSE(holds("setp.gt.f16x2 %p1|%p0, %r1, %r2;", 0x00003c00, 0x00000000));
  CHECK(holds("setp.eq.s32 %p1, %r1, 3; mov.pred %p2, 1; and.pred %p0, %p1, %p2;", 3));
  CHECK(holds("setp.eq.s32 %p1, %r1, 4; not.pred %p0, %p1;", 3));
  CHECK(holds("setp.eq.s32 %p1, %r1, 4; or.pred %p0, !%p1, %p1;", 3));
  CHECK(holds("testp.subnormal.f32 %p0, %r1;", 1));
  CHECK(holds("testp.notanumber.f32 %p0, %r1;", f(NAN)));
}

TEST_CASE("set, selections and moves") {
  CHECK(eval32("set.gt.u32.s32 %r0, %r1, %r2;", 3, 2) == 0xffffffffU);
  CHECK(eval32("set.gt.f32.f32 %r0, %r1, %r2;", f(3), f(2)) == f(1));
  CHECK(eval16("set.eq.f16.f16 %h0, %h1, %h2;", 0x3c00, 0x3c00) == 0x3c00);
  CHECK(eval32("set.gt.f16x2.f16x2 %r0, %r1, %r2;", 0x3c000000, 0) == 0x3c000000U);
  CHECK(eval32("set.lt.bf16x2.bf16x2 %r0, %r1, %r2;", 0, 0x00003f80) == 0x00003f80U);
  CHECK(eval32("setp.eq.s32 %p0, %r1, 1; selp.b32 %r0, %r2, %r3, %p0;", 1, 5, 6) == 5);
  CHECK(eval("setp.eq.s32 %p0, %r1, 1; selp.f64 %l0, %l2, %l3, !%p0;", 1, 5, 6) == 6);
  CHECK(eval32("slct.u32.s32 %r0, %r1, %r2, %r3;", 10, 20, 0xffffffff) == 20);
  CHECK(eval32("slct.f32.f32 %r0, %r1, %r2, %r3;", 10, 20, f(-0.0F)) == 10);
  CHECK(eval32("mov.b32 %r0, {%h1, %h2};", 0x1111, 0x2222) == 0x22221111U);
  CHECK(eval("mov.b64 %l0, {%r1, %r2};", 1, 2) == 0x200000001U);
  CHECK(eval16("mov.b32 {%h2, %h0}, %r1;", 0x22221111) == 0x2222);
  CHECK(eval32("mov.b64 {_, %r0}, %l1;", u64{7} << 32) == 7);
  CHECK(eval("mov.b64 %l0, {%h1, %h2, %h3, %h1};", 1, 2, 3) == 0x0001000300020001U);
  CHECK(eval32("mov.f32 %r0, 0f3F800000;") == f(1));
  CHECK(eval("mov.f64 %l0, 0d3FF0000000000000;") == d(1));
  CHECK(eval32("mov.u32 %r0, %ntid.x;") == 32);
  CHECK(eval32("mov.b32 %r0, 0X1F79U;") == 0x1f79);
  CHECK(eval32("{.reg.b32 %r5, spare; mov.u32 %r5, 9; mov.u32 %r0, %r5; }") == 9);
}

}  // namespace fa_tune::test
