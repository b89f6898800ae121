#include <cmath>

#include "tests/engine/device/emulator/instruction_bench.hpp"

// What single instructions give, against values worked out from the PTX ISA.

namespace fa_tune::test {

TEST_CASE("integer sums and products wrap") {
  CHECK(eval("add.s32 %r0, %r1, %r2;", 0x7fffffff, 1) == 0x80000000U);
  CHECK(eval("add.s16 %h0, %h1, %h2;", 0xffff, 2) == 1);
  CHECK(eval("sub.u64 %l0, %l1, %l2;", 0, 1) == ~u64{0});
  CHECK(eval("mul.lo.s32 %r0, %r1, %r2;", 0x10001, 0x10001) == 0x20001);
  CHECK(eval("mul.lo.u16 %h0, %h1, %h2;", 0xffff, 0xffff) == 1);
  CHECK(eval("mul.hi.s32 %r0, %r1, %r2;", 0xffffffff, 5) == 0xffffffffU);
  CHECK(eval("mul.hi.u32 %r0, %r1, %r2;", 0xffffffff, 5) == 4);
  CHECK(eval("mul.hi.u64 %l0, %l1, %l2;", ~u64{0}, 3) == 2);
  CHECK(eval("mul.hi.s64 %l0, %l1, %l2;", ~u64{0}, 3) == ~u64{0});
  CHECK(eval("mul.wide.s32 %l0, %r1, %r2;", 0xffffffff, 3) == u64(-3));
  CHECK(eval("mul.wide.u32 %l0, %r1, %r2;", 0xffffffff, 3) == 0x2fffffffdU);
  CHECK(eval("mul.wide.s16 %r0, %h1, %h2;", 0xffff, 3) == 0xfffffffdU);
  CHECK(eval("mad.lo.s32 %r0, %r1, %r2, %r3;", 7, 6, 0xffffffff) == 41);
  CHECK(eval("mad.hi.u32 %r0, %r1, %r2, %r3;", 0x80000000, 6, 10) == 13);
  CHECK(eval("mad.wide.u32 %l0, %r1, %r2, %l3;", 0xffffffff, 2, 5) == 0x200000003U);
  CHECK(eval("mul24.lo.s32 %r0, %r1, %r2;", 0x00ffffff, 3) == 0xfffffffdU);
  CHECK(eval("mad24.lo.u32 %r0, %r1, %r2, %r3;", 0xff000002, 3, 1) == 7);
  CHECK(eval("sad.u32 %r0, %r1, %r2, %r3;", 3, 10, 100) == 107);
  CHECK(eval("sad.s32 %r0, %r1, %r2, %r3;", 0xffffffff, 1, 100) == 102);
  CHECK(eval("dp4a.s32.s32 %r0, %r1, %r2, %r3;", 0x01ff0203, 0x01020304, 10) ==
        10 + 12 + 6 - 2 + 1);
  CHECK(eval("dp4a.u32.u32 %r0, %r1, %r2, %r3;", 0xff000000, 0x02000000, 1) == 511);
}

TEST_CASE("integer division, extremes and signs") {
  CHECK(eval("div.s32 %r0, %r1, %r2;", 0xfffffff9, 2) == 0xfffffffdU);  // -7 / 2 = -3
  CHECK(eval("rem.s32 %r0, %r1, %r2;", 0xfffffff9, 2) == 0xffffffffU);
  CHECK(eval("div.s32 %r0, %r1, %r2;", 0x80000000, 0xffffffff) == 0x80000000U);
  CHECK(eval("div.u32 %r0, %r1, %r2;", 7, 0) == 0xffffffffU);
  CHECK(eval("rem.u64 %l0, %l1, %l2;", 100, 7) == 2);
  CHECK(eval("min.s32 %r0, %r1, %r2;", 0xffffffff, 1) == 0xffffffffU);
  CHECK(eval("min.u32 %r0, %r1, %r2;", 0xffffffff, 1) == 1);
  CHECK(eval("max.s64 %l0, %l1, %l2;", ~u64{0}, 1) == 1);
  CHECK(eval("abs.s32 %r0, %r1;", 0x80000000) == 0x80000000U);
  CHECK(eval("abs.s16 %h0, %h1;", 0xfffe) == 2);
  CHECK(eval("neg.s32 %r0, %r1;", 5) == 0xfffffffbU);
}

TEST_CASE("logic, shifts and bit fields") {
  CHECK(eval("and.b32 %r0, %r1, %r2;", 0xff00, 0x0ff0) == 0x0f00);
  CHECK(eval("or.b64 %l0, %l1, %l2;", 1, u64{1} << 63) == (u64{1} << 63 | 1));
  CHECK(eval("xor.b16 %h0, %h1, %h2;", 0xffff, 0x0ff0) == 0xf00f);
  CHECK(eval("not.b32 %r0, %r1;", 0) == 0xffffffffU);
  CHECK(eval("cnot.b32 %r0, %r1;", 0) == 1);
  CHECK(eval("shl.b32 %r0, %r1, %r2;", 1, 31) == 0x80000000U);
  CHECK(eval("shl.b32 %r0, %r1, %r2;", 1, 32) == 0);
  CHECK(eval("shl.b64 %l0, %l1, %r2;", 1, 63) == u64{1} << 63);
  CHECK(eval("shr.s32 %r0, %r1, %r2;", 0x80000000, 40) == 0xffffffffU);
  CHECK(eval("shr.u32 %r0, %r1, %r2;", 0x80000000, 40) == 0);
  CHECK(eval("shr.s64 %l0, %l1, %r2;", u64{1} << 63, 63) == ~u64{0});
  CHECK(eval("shr.s16 %h0, %h1, %r2;", 0x8000, 3) == 0xf000);
  CHECK(eval("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000000, 1, 33) == 3);
  CHECK(eval("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 0x12345678, 1, 40) == 0x12345678);
  CHECK(eval("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 2, 1, 1) == 0x80000001U);
  CHECK(eval("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 2, 1, 40) == 1);
  CHECK(eval("lop3.b32 %r0, %r1, %r2, %r3, 0xe8;", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc) ==
        ((0xff00ff00U & 0xf0f0f0f0U) | (0xff00ff00U & 0xccccccccU) | (0xf0f0f0f0U & 0xccccccccU)));
  CHECK(eval("lop3.b32 %r0, %r1, %r2, %r3, 0x1a;", 0xaa, 0xcc, 0xf0) ==
        ((0xaaU & ~0xccU & ~0xf0U) | (~0xaaU & 0xf0U)));
  CHECK(eval("prmt.b32 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 0x7250) == 0x77225500U);
  CHECK(eval("prmt.b32 %r0, %r1, %r2, %r3;", 0x80, 0, 0x1118) == 0xffU);
  CHECK(eval("bfe.u32 %r0, %r1, %r2, %r3;", 0xabcd1234, 8, 8) == 0x12);
  CHECK(eval("bfe.s32 %r0, %r1, %r2, %r3;", 0x0000f000, 12, 4) == 0xffffffffU);
  CHECK(eval("bfe.s32 %r0, %r1, %r2, %r3;", 0x80000000, 28, 16) == 0xfffffff8U);
  CHECK(eval("bfe.u32 %r0, %r1, %r2, %r3;", 0xffffffff, 4, 0) == 0);
  CHECK(eval("bfi.b32 %r0, %r1, %r2, 8, 4;", 0x5, 0xffffffff) == 0xfffff5ffU);
  CHECK(eval("bfi.b64 %l0, %l1, %l2, 32, 32;", 0x12345678, 0x9) == 0x1234567800000009U);
  CHECK(eval("bfind.u32 %r0, %r1;", 0x00010000) == 16);
  CHECK(eval("bfind.s32 %r0, %r1;", 0xffffffff) == 0xffffffffU);
  CHECK(eval("bfind.shiftamt.u32 %r0, %r1;", 0x00010000) == 15);
  CHECK(eval("bfind.u64 %r0, %l1;", u64{1} << 40) == 40);
  CHECK(eval("brev.b32 %r0, %r1;", 1) == 0x80000000U);
  CHECK(eval("brev.b64 %l0, %l1;", 2) == u64{1} << 62);
  CHECK(eval("clz.b32 %r0, %r1;", 0) == 32);
  CHECK(eval("clz.b64 %r0, %l1;", 1) == 63);
  CHECK(eval("popc.b32 %r0, %r1;", 0xf0f0) == 8);
  CHECK(eval("popc.b64 %r0, %l1;", ~u64{0}) == 64);
}

TEST_CASE("f32 and f64 arithmetic") {
  CHECK(eval("add.f32 %r0, %r1, %r2;", f(1.5F), f(2.25F)) == f(3.75F));
  CHECK(eval("sub.rn.f32 %r0, %r1, %r2;", f(1), f(2)) == f(-1));
  CHECK(eval("add.rn.f32 %r0, %r1, %r2;", f(1), f(0x1p-25F)) == f(1));
  CHECK(eval("add.rp.f32 %r0, %r1, %r2;", f(1), f(0x1p-60F)) == 0x3f800001U);
  CHECK(eval("add.rz.f32 %r0, %r1, %r2;", f(1), f(-0x1p-60F)) == 0x3f7fffffU);
  CHECK(eval("add.rm.f32 %r0, %r1, %r2;", f(-1), f(-0x1p-60F)) == 0xbf800001U);
  CHECK(eval("add.rm.f32 %r0, %r1, %r2;", f(1), f(-1)) == f(-0.0F));
  CHECK(eval("mul.rz.f32 %r0, %r1, %r2;", 0x3f800001, 0x3f800001) == 0x3f800002U);
  CHECK(eval("mul.rp.f32 %r0, %r1, %r2;", 0x3f800001, 0x3f800001) == 0x3f800003U);
  CHECK(eval("mul.f32 %r0, %r1, %r2;", 1, f(0.5F)) == 0);
  CHECK(eval("mul.f32 %r0, %r1, %r2;", 0x00800000, f(0.5F)) == 0x00400000U);
  CHECK(eval("mul.ftz.f32 %r0, %r1, %r2;", 0x80800000, f(0.5F)) == 0x80000000U);
  CHECK(eval("add.ftz.f32 %r0, %r1, %r2;", 0x00400000, 0x00400000) == 0);
  CHECK(eval("add.f32 %r0, %r1, %r2;", f(INFINITY), f(-INFINITY)) == 0x7fffffffU);
  CHECK(eval("mul.f32 %r0, %r1, %r2;", 0xffc12345, f(1)) == 0x7fffffffU);
  CHECK(eval("add.rz.ftz.f32 %r0, %r1, %r2;", 0x00400000, 0x00400000) == 0);
  CHECK(eval("fma.rp.ftz.f32 %r0, %r1, %r2, %r3;", f(1), f(0), 1) == 0);
  CHECK(eval("fma.rn.ftz.sat.f32 %r0, %r1, %r2, %r3;", f(2), f(2), 1) == f(1));
  CHECK(eval("add.sat.f32 %r0, %r1, %r2;", f(0.75F), f(0.75F)) == f(1));
  // (1 + 2^-23)^2 - 1 keeps the 2^-46 that two roundings would lose.
  CHECK(eval("fma.rn.f32 %r0, %r1, %r2, %r3;", 0x3f800001, 0x3f800001, f(-1)) ==
        f(0x1p-22F + 0x1p-46F));
  CHECK(eval("fma.rz.f32 %r0, %r1, %r2, %r3;", f(1), f(1), f(-0x1p-70F)) == 0x3f7fffffU);
  CHECK(eval("div.rn.f32 %r0, %r1, %r2;", f(1), f(3)) == f(1.0F / 3.0F));
  CHECK(eval("div.rz.f32 %r0, %r1, %r2;", f(2), f(3)) == 0x3f2aaaaaU);
  CHECK(eval("div.rp.f32 %r0, %r1, %r2;", f(1), f(3)) == 0x3eaaaaabU);
  CHECK(eval("div.full.f32 %r0, %r1, %r2;", f(1), f(-0.0F)) == f(-INFINITY));
  CHECK(eval("div.approx.ftz.f32 %r0, %r1, %r2;", f(6), f(3)) == f(2));
  CHECK(eval("sqrt.rn.f32 %r0, %r1;", f(2)) == 0x3fb504f3U);
  CHECK(eval("sqrt.rp.f32 %r0, %r1;", f(2)) == 0x3fb504f4U);
  CHECK(eval("sqrt.approx.f32 %r0, %r1;", f(-1)) == 0x7fffffffU);
  CHECK(eval("rcp.rn.f32 %r0, %r1;", f(4)) == f(0.25F));
  CHECK(eval("rsqrt.approx.f32 %r0, %r1;", f(0.25F)) == f(2));
  CHECK(eval("abs.f32 %r0, %r1;", f(-2)) == f(2));
  CHECK(eval("neg.f32 %r0, %r1;", f(0)) == f(-0.0F));
  CHECK(eval("copysign.f32 %r0, %r1, %r2;", f(-1), f(3)) == f(-3));
  CHECK(eval("add.f64 %l0, %l1, %l2;", d(1), d(2)) == d(3));
  CHECK(eval("fma.rn.f64 %l0, %l1, %l2, %l3;", d(3), d(4), d(5)) == d(17));
  CHECK(eval("div.rn.f64 %l0, %l1, %l2;", d(1), d(3)) == d(1.0 / 3.0));
  CHECK(eval("sqrt.rn.f64 %l0, %l1;", d(2)) == 0x3ff6a09e667f3bcdU);
}

TEST_CASE("f32 extremes: NaN loses, zeros are ordered") {
  CHECK(eval("min.f32 %r0, %r1, %r2;", f(NAN), f(3)) == f(3));
  CHECK(eval("max.f32 %r0, %r1, %r2;", f(3), f(NAN)) == f(3));
  CHECK(eval("max.f32 %r0, %r1, %r2;", f(NAN), f(NAN)) == 0x7fffffffU);
  CHECK(eval("max.NaN.f32 %r0, %r1, %r2;", f(3), f(NAN)) == 0x7fffffffU);
  CHECK(eval("min.f32 %r0, %r1, %r2;", f(0), f(-0.0F)) == f(-0.0F));
  CHECK(eval("max.f32 %r0, %r1, %r2;", f(-0.0F), f(0)) == f(0));
  CHECK(eval("max.ftz.f32 %r0, %r1, %r2;", 0x00000001, f(-1)) == 0);
  CHECK(eval("min.f64 %l0, %l1, %l2;", d(-1), d(2)) == d(-1));
}

TEST_CASE("special functions are within the ISA's bounds") {
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", f(10)) == f(1024));
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", f(-INFINITY)) == 0);
  CHECK(eval("ex2.approx.ftz.f32 %r0, %r1;", f(-130)) == 0);
  CHECK(eval("ex2.approx.f32 %r0, %r1;", f(-130)) == f(0x1p-130F));
  CHECK(eval("ex2.approx.f32 %r0, %r1;", f(200)) == f(INFINITY));
  CHECK(eval("ex2.approx.f32 %r0, %r1;", f(NAN)) == 0x7fffffffU);
  CHECK(eval("ex2.approx.f32 %r0, %r1;", f(0.5F)) == 0x3fb504f3U);
  CHECK(eval("lg2.approx.f32 %r0, %r1;", f(8)) == f(3));
  CHECK(eval("lg2.approx.f32 %r0, %r1;", f(0x1p-140F)) == f(-140));
  CHECK(eval("lg2.approx.f32 %r0, %r1;", f(0)) == f(-INFINITY));
  CHECK(eval("lg2.approx.f32 %r0, %r1;", f(-1)) == 0x7fffffffU);
  CHECK(eval("lg2.approx.f32 %r0, %r1;", f(INFINITY)) == f(INFINITY));
  CHECK(eval("sin.approx.f32 %r0, %r1;", f(0)) == 0);
  CHECK(eval("cos.approx.ftz.f32 %r0, %r1;", f(0)) == f(1));
  CHECK(eval("tanh.approx.f32 %r0, %r1;", f(20)) == f(1));
}

TEST_CASE("f16 and bf16, alone and in pairs") {
  CHECK(eval("add.f16 %h0, %h1, %h2;", 0x3c00, 0x4000) == 0x4200);
  CHECK(eval("mul.f16x2 %r0, %r1, %r2;", 0x3c004000, 0x40004000) == 0x40004400U);
  CHECK(eval("sub.f16x2 %r0, %r1, %r2;", 0x3c003c00, 0x40003c00) == 0xbc000000U);
  // 1 + 2^-11 is a tie; the product's last bit decides upwards where two roundings would not.
  CHECK(eval("fma.rn.f16 %h0, %h1, %h2, %h3;", 0x1001, 0x3c00, 0x3c00) == 0x3c01);
  CHECK(eval("fma.rn.f16 %h0, %h1, %h2, %h3;", 0x1000, 0x3c00, 0x3c00) == 0x3c00);
  CHECK(eval("fma.rn.relu.f16x2 %r0, %r1, %r2, %r3;", 0xbc003c00, 0x3c003c00, 0) == 0x00003c00U);
  CHECK(eval("fma.rn.relu.f16 %h0, %h1, %h2, %h3;", 0x7e01, 0x3c00, 0) == 0x7fff);
  CHECK(eval("add.sat.f16 %h0, %h1, %h2;", 0x3c00, 0x3c00) == 0x3c00);
  CHECK(eval("add.f16 %h0, %h1, %h2;", 0x7bff, 0x7bff) == 0x7c00);
  CHECK(eval("mul.f16 %h0, %h1, %h2;", 0x0400, 0x3800) == 0x0200);
  CHECK(eval("neg.f16x2 %r0, %r1;", 0x00008000) == 0x80000000U);
  CHECK(eval("abs.f16 %h0, %h1;", 0xbc00) == 0x3c00);
  CHECK(eval("max.f16x2 %r0, %r1, %r2;", 0x7e003c00, 0x3c00bc00) == 0x3c003c00U);
  CHECK(eval("min.f16 %h0, %h1, %h2;", 0x0000, 0x8000) == 0x8000);
  CHECK(eval("max.NaN.f16 %h0, %h1, %h2;", 0x7e00, 0x3c00) == 0x7fff);
  CHECK(eval("fma.rn.bf16 %h0, %h1, %h2, %h3;", 0x3f80, 0x3f80, 0x3f80) == 0x4000);
  CHECK(eval("fma.rn.bf16x2 %r0, %r1, %r2, %r3;", 0x40003f80, 0x40003f80, 0) == 0x40803f80U);
  // A tie at 8 bits that a term of 2^-100 decides.
  CHECK(eval("fma.rn.bf16 %h0, %h1, %h2, %h3;", 0x3f88, 0x3f88, 0x8d80) == 0x3f90);
  CHECK(eval("max.bf16x2 %r0, %r1, %r2;", 0xbf803f80, 0x3f80bf80) == 0x3f803f80U);
  CHECK(eval("ex2.approx.f16x2 %r0, %r1;", 0x40004200) == 0x44004800U);
  CHECK(eval("ex2.approx.ftz.bf16 %h0, %h1;", 0x4000) == 0x4080);
  CHECK(eval("tanh.approx.f16 %h0, %h1;", 0) == 0);
}

}  // namespace fa_tune::test
