#include <cmath>

#include "tests/engine/device/emulator/instruction_bench.hpp"

// Real arithmetic beyond the plain forms, against values worked out from the PTX ISA: rounding of
// f64, saturation with a direction, subnormals of f16, signs of min and max, quotients, fp8.

namespace fa_tune::test {

TEST_CASE("f64 rounds in every direction") {
  const u64 one_up = 0x3ff0000000000001;
  const u64 one_down = 0x3fefffffffffffff;
  CHECK(eval("add.rp.f64 %l0, %l1, %l2;", d(1), d(0x1p-200)) == one_up);
  CHECK(eval("add.rz.f64 %l0, %l1, %l2;", d(1), d(-0x1p-200)) == one_down);
  CHECK(eval("add.rm.f64 %l0, %l1, %l2;", d(-1), d(-0x1p-200)) == (one_up | u64{1} << 63));
  CHECK(eval("add.rm.f64 %l0, %l1, %l2;", d(1), d(-1)) == d(-0.0));
  CHECK(eval("sub.rz.f64 %l0, %l1, %l2;", d(1), d(0x1p-60)) == one_down);
  CHECK(eval("mul.rp.f64 %l0, %l1, %l2;", one_up, one_up) == 0x3ff0000000000003);
  CHECK(eval("mul.rz.f64 %l0, %l1, %l2;", one_up, one_up) == 0x3ff0000000000002);
  CHECK(eval("mul.rp.f64 %l0, %l1, %l2;", 1, d(0.25)) == 1);
  CHECK(eval("mul.rm.f64 %l0, %l1, %l2;", 1, d(-0.25)) == (u64{1} << 63 | 1));
  CHECK(eval("mul.rz.f64 %l0, %l1, %l2;", d(1e300), d(1e300)) == 0x7fefffffffffffff);
  CHECK(eval("mul.rm.f64 %l0, %l1, %l2;", d(1e300), d(-1e300)) == d(-INFINITY));
  CHECK(eval("fma.rp.f64 %l0, %l1, %l2, %l3;", d(1), d(1), d(0x1p-1074)) == one_up);
  CHECK(eval("fma.rz.f64 %l0, %l1, %l2, %l3;", d(0x1p-600), d(-0x1p-600), d(1)) == one_down);
  CHECK(eval("fma.rm.f64 %l0, %l1, %l2, %l3;", d(2), d(3), d(-6)) == d(-0.0));
  CHECK(eval("div.rz.f64 %l0, %l1, %l2;", d(2), d(3)) == 0x3fe5555555555555);
  CHECK(eval("div.rp.f64 %l0, %l1, %l2;", d(1), d(3)) == 0x3fd5555555555556);
  CHECK(eval("div.rm.f64 %l0, %l1, %l2;", d(1), d(-0.0)) == d(-INFINITY));
  CHECK(eval("div.rz.f64 %l0, %l1, %l2;", d(1e300), d(-1e-300)) ==
        (0x7fefffffffffffff | u64{1} << 63));
  CHECK(eval("rcp.rm.f64 %l0, %l1;", d(3)) == 0x3fd5555555555555);
  CHECK(eval("sqrt.rp.f64 %l0, %l1;", d(2)) == 0x3ff6a09e667f3bcd);
  CHECK(eval("sqrt.rz.f64 %l0, %l1;", d(2)) == 0x3ff6a09e667f3bcc);
  CHECK(eval("sqrt.rm.f64 %l0, %l1;", d(9)) == d(3));
  CHECK(eval("rcp.approx.ftz.f64 %l0, %l1;", d(4)) == d(0.25));
  CHECK(eval("rcp.approx.ftz.f64 %l0, %l1;", d(0)) == d(INFINITY));
  CHECK((eval("rcp.approx.ftz.f64 %l0, %l1;", d(3)) & 0xffffffffU) == 0);
  CHECK(eval("rsqrt.approx.ftz.f64 %l0, %l1;", d(0.25)) == d(2));
  CHECK(eval("rsqrt.approx.f64 %l0, %l1;", d(0.25)) == d(2));
}

TEST_CASE("f32: saturation with a direction, signs, quotients") {
  CHECK(eval("add.rz.sat.f32 %r0, %r1, %r2;", f(0.75F), f(0.75F)) == f(1));
  CHECK(eval("add.rm.sat.f32 %r0, %r1, %r2;", f(1), f(-1)) == 0);
  CHECK(eval("fma.rp.sat.f32 %r0, %r1, %r2, %r3;", f(NAN), f(1), f(1)) == 0);
  CHECK(eval("mul.rp.ftz.sat.f32 %r0, %r1, %r2;", f(-1), f(2)) == 0);
  CHECK(eval("min.xorsign.abs.f32 %r0, %r1, %r2;", f(-3), f(2)) == f(-2));
  CHECK(eval("max.xorsign.abs.f32 %r0, %r1, %r2;", f(-3), f(-2)) == f(3));
  CHECK(eval("max.NaN.xorsign.abs.f32 %r0, %r1, %r2;", f(-3), f(NAN)) == 0x7fffffffU);
  CHECK(eval("div.approx.f32 %r0, %r1, %r2;", f(0x1p126F), f(0x1.8p126F)) == 0);
  CHECK(eval("div.approx.f32 %r0, %r1, %r2;", f(INFINITY), f(0x1.8p126F)) == 0x7fffffffU);
  CHECK(eval("div.full.f32 %r0, %r1, %r2;", f(0x1p127F), f(0x1p127F)) == f(1));
  CHECK(eval("div.full.f32 %r0, %r1, %r2;", f(0x1p-140F), f(0x1p-140F)) == f(1));
  CHECK(eval("div.approx.ftz.f32 %r0, %r1, %r2;", f(0x1p-140F), f(1)) == 0);
  CHECK(eval("rcp.approx.f32 %r0, %r1;", f(0x1p127F)) == f(0x1p-127F));
  CHECK(eval("rcp.approx.ftz.f32 %r0, %r1;", f(0x1p127F)) == 0);
  CHECK(eval("rcp.approx.ftz.f32 %r0, %r1;", f(-0x1p-127F)) == f(-INFINITY));
  CHECK(eval("rcp.approx.f32 %r0, %r1;", f(-INFINITY)) == f(-0.0F));
  CHECK(eval("slct.ftz.f32.f32 %r0, %r1, %r2, %r3;", 10, 20, 0x80000001) == 10);
  CHECK(eval("slct.f32.f32 %r0, %r1, %r2, %r3;", 10, 20, 0x80000001) == 20);
  CHECK(holds("testp.normal.f32 %p0, %r1;", 0));
  CHECK(holds("testp.subnormal.f64 %p0, %l1;", 1));
  CHECK(holds("testp.infinite.f64 %p0, %l1;", d(-INFINITY)));
}

// Recorded from an H100.
TEST_CASE("ex2, rcp, rsqrt and sqrt.approx give the hardware's bits") {
  CHECK(eval("rsqrt.approx.ftz.f32 %r0, %r1;", f(2)) == 0x3f3504f2U);
  CHECK(eval("rsqrt.approx.ftz.f32 %r0, %r1;", f(4)) == f(0.5F));
  CHECK(eval("sqrt.approx.ftz.f32 %r0, %r1;", f(2)) == 0x3fb504f3U);
  CHECK(eval("sqrt.approx.f32 %r0, %r1;", f(0x1p-140F)) == f(0x1p-70F));
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", f(-1)) == f(0.5F));
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", 0x3f800001) == 0x40000001U);
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", 0xbf800001) == 0x3efffffeU);
  CHECK(eval("rcp.approx.ftz.f32 %r0, %r1;", 0x3f800001) == 0x3f7ffffeU);
}

TEST_CASE("f16: subnormals flush when told, fused and not") {
  CHECK(eval("add.ftz.f16 %h0, %h1, %h2;", 0x0200, 0x0200) == 0);
  CHECK(eval("add.f16 %h0, %h1, %h2;", 0x0200, 0x0200) == 0x0400);
  CHECK(eval("mul.ftz.f16 %h0, %h1, %h2;", 0x8400, 0x3800) == 0x8000);
  CHECK(eval("fma.rn.ftz.f16x2 %r0, %r1, %r2, %r3;", 0x3c003c00, 0x02003c00, 0x00010000) ==
        0x00003c00U);
  CHECK(eval("fma.rn.ftz.relu.f16 %h0, %h1, %h2, %h3;", 0xbc00, 0x3c00, 0) == 0);
  CHECK(eval("abs.ftz.f16 %h0, %h1;", 0x8001) == 0);
  CHECK(eval("neg.ftz.f16x2 %r0, %r1;", 0x00018001) == 0x80000000U);
  CHECK(eval("max.ftz.f16 %h0, %h1, %h2;", 0x0001, 0x8400) == 0);
  CHECK(eval("min.xorsign.abs.f16 %h0, %h1, %h2;", 0xc200, 0x4000) == 0xc000);
  CHECK(eval("max.NaN.xorsign.abs.bf16x2 %r0, %r1, %r2;", 0x7fc0c040, 0x3f804000) == 0x7fffc040U);
  CHECK(holds("setp.eq.ftz.f16 %p0, %h1, %h2;", 1, 0));
  CHECK(eval("set.eq.ftz.f32.f16 %r0, %h1, %h2;", 1, 0x8002) == f(1));
  CHECK(eval("ex2.approx.ftz.bf16 %h0, %h1;", 0xc2fd) == 0);
}

TEST_CASE("conversions: NaN, finite, tf32, fp8, packs") {
  CHECK(eval("cvt.rzi.s32.f64 %r0, %l1;", d(NAN)) == 0x80000000U);
  CHECK(eval("cvt.rzi.u32.f64 %r0, %l1;", d(NAN)) == 0x80000000U);
  CHECK(eval("cvt.rzi.s64.f32 %l0, %r1;", f(NAN)) == u64{1} << 63);
  CHECK(eval("cvt.rzi.u16.f32 %h0, %r1;", f(NAN)) == 0);
  CHECK(eval("cvt.rn.satfinite.f16.f32 %h0, %r1;", f(-1e6F)) == 0xfbff);
  CHECK(eval("cvt.rn.satfinite.bf16x2.f32 %r0, %r1, %r2;", f(INFINITY), f(1)) == 0x7f7f3f80U);
  CHECK(eval("cvt.rn.satfinite.f16.f32 %h0, %r1;", f(NAN)) == 0x7fff);
  CHECK(eval("cvt.rna.tf32.f32 %r0, %r1;", 0x3f801000) == 0x3f802000U);
  CHECK(eval("cvt.rn.tf32.f32 %r0, %r1;", 0x3f801000) == 0x3f800000U);
  CHECK(eval("cvt.rz.tf32.f32 %r0, %r1;", 0x3f803fff) == 0x3f802000U);
  CHECK(eval("cvt.rn.relu.tf32.f32 %r0, %r1;", f(-2)) == 0);
  CHECK(eval("cvt.rn.bf16.f16 %h0, %h1;", 0x3c01) == 0x3f80);
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", f(1000), f(-1)) == 0x7eb8);
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", f(NAN), f(0x1p-9F)) == 0x7f01);
  // Ties to even: 17 and 19 lie between 16, 18 and 20; below the smallest normal number likewise.
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", f(17), f(19)) == 0x585a);
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", f(0x1p-10F), f(0x1.8p-9F)) == 0x0002);
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", f(464), f(448)) == 0x7e7e);
  CHECK(eval("cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", f(INFINITY), f(-0x1p-16F)) == 0x7b81);
  CHECK(eval("cvt.rn.satfinite.relu.e5m2x2.f32 %h0, %r1, %r2;", f(-3), f(1)) == 0x003c);
  CHECK(eval("cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", 0x7c003c00) == 0x7e38);
  CHECK(eval("cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x7f01) == 0x7fff1800U);
  CHECK(eval("cvt.rn.f16x2.e5m2x2 %r0, %h1;", 0xfc3c) == 0xfc003c00U);
  CHECK(eval("cvt.rn.relu.f16x2.e4m3x2 %r0, %h1;", 0xb838) == 0x00003c00U);
  CHECK(eval("cvt.pack.sat.s16.s32 %r0, %r1, %r2;", 40000, u32(-40000)) == 0x7fff8000U);
  CHECK(eval("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", 300, u32(-1), 0xabcd) == 0xabcdff00U);
  CHECK(eval("cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", 9, u32(-9), 0xab) == 0xab78U);
}

}  // namespace fa_tune::test
