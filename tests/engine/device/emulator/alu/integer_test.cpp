#include "tests/engine/device/emulator/instruction_bench.hpp"

// Integer arithmetic beyond the plain forms, against values worked out from the PTX ISA: carries,
// saturation, 24 bits, dot products, halves of words, masks, permutations, SIMD video.

namespace fa_tune::test {

TEST_CASE("carries chain through add, sub and mad") {
  // 2^64 - 1 + 1 over two words, then the carry itself.
  CHECK(eval("add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 0;", 0xffffffff, 1, 5) == 6);
  CHECK(eval("add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 0;", 0xfffffffe, 1, 5) == 5);
  CHECK(eval("add.cc.u32 %r4, %r1, %r2; addc.cc.u32 %r4, %r3, 0; addc.u32 %r0, 0, 0;", 0xffffffff,
             1, 0xffffffff) == 1);
  CHECK(eval("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r3, 0;", 0, 1, 0) == 0xffffffffU);
  CHECK(eval("sub.cc.u32 %r4, %r1, %r2; subc.cc.u32 %r4, %r3, 0; subc.u32 %r0, 9, 0;", 0, 1, 0) ==
        8);
  // A borrow that comes in where both are equal goes out.
  CHECK(eval("sub.cc.u32 %r4, 0, 1; subc.cc.u32 %r4, %r1, %r1; subc.u32 %r0, 9, 0;", 44) == 8);
  CHECK(eval("add.cc.u64 %l6, %l1, %l2; addc.u64 %l0, 0, 0;", ~u64{0}, 1) == 1);
  CHECK(eval("add.cc.s32 %r4, %r1, %r2; addc.s32 %r0, 0, 0;", 0x80000000, 0x80000000) == 1);
  // mad.lo.cc's carry is of the sum alone; madc.hi takes it in.
  CHECK(eval("mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 0;", 0xffffffff,
             0xffffffff, 0xffffffff) == 0xffffffffU);
  CHECK(eval("mad.hi.cc.u32 %r4, %r1, %r2, %r3; addc.u32 %r0, 0, 0;", 0xffffffff, 0xffffffff, 2) ==
        1);
  CHECK(eval("mad.hi.cc.s32 %r0, %r1, %r2, %r3;", 0xffffffff, 5, 0) == 0xffffffffU);
  CHECK(eval("mad.hi.cc.u64 %l0, %l1, %l2, %l3;", ~u64{0}, ~u64{0}, 1) == ~u64{0});
  CHECK(eval("add.cc.u32 %r4, 0, 0; madc.lo.cc.u32 %r0, %r1, %r2, %r3;", 3, 4, 5) == 17);
}

TEST_CASE("saturation and 24 bits") {
  CHECK(eval("add.sat.s32 %r0, %r1, %r2;", 0x7fffffff, 1) == 0x7fffffffU);
  CHECK(eval("add.sat.s32 %r0, %r1, %r2;", 0x80000000, 0xffffffff) == 0x80000000U);
  CHECK(eval("sub.sat.s32 %r0, %r1, %r2;", 0x80000000, 1) == 0x80000000U);
  CHECK(eval("mad.hi.sat.s32 %r0, %r1, %r2, %r3;", 0x40000000, 0x7fffffff, 0x7fffffff) ==
        0x7fffffffU);
  CHECK(eval("mul24.hi.u32 %r0, %r1, %r2;", 0x00ffffff, 0x00ffffff) == 0xfffffe00U);
  CHECK(eval("mul24.hi.s32 %r0, %r1, %r2;", 0x00800000, 0x00000100) == 0xffff8000U);
  CHECK(eval("mad24.hi.u32 %r0, %r1, %r2, %r3;", 0x00010000, 0x00010000, 3) == 0x10003U);
  CHECK(eval("mad24.hi.sat.s32 %r0, %r1, %r2, %r3;", 0x007fffff, 0x007fffff, 0x7fffffff) ==
        0x7fffffffU);
}

TEST_CASE("dot products and pairs of 16 bits") {
  CHECK(eval("dp2a.lo.s32.s32 %r0, %r1, %r2, %r3;", 0x0002ffff, 0x00000305, 10) == 10 - 5 + 6);
  CHECK(eval("dp2a.hi.u32.u32 %r0, %r1, %r2, %r3;", 0x0002ffff, 0x03050000, 10) ==
        10 + 0xffffU * 5 + 6);
  CHECK(eval("dp2a.lo.u32.s32 %r0, %r1, %r2, %r3;", 0x0000ffff, 0x000000ff, 0) == u32(-65535));
  CHECK(eval("dp4a.s32.u32 %r0, %r1, %r2, %r3;", 0xff, 0xff, 0) == u32(-255));
  CHECK(eval("add.u16x2 %r0, %r1, %r2;", 0x0001ffff, 0x00010001) == 0x00020000U);
  CHECK(eval("min.s16x2 %r0, %r1, %r2;", 0x0001ffff, 0x80000001) == 0x8000ffffU);
  CHECK(eval("max.u16x2 %r0, %r1, %r2;", 0x0001ffff, 0x80000001) == 0x8000ffffU);
  CHECK(eval("max.s16x2.relu %r0, %r1, %r2;", 0xfffffff0, 0x8000fff1) == 0);
  CHECK(eval("min.relu.s32 %r0, %r1, %r2;", 0xffffffff, 7) == 0);
  CHECK(eval("max.s32.relu %r0, %r1, %r2;", 0xffffffff, 7) == 7);
}

TEST_CASE("masks and extensions") {
  CHECK(eval("bmsk.clamp.b32 %r0, %r1, %r2;", 4, 8) == 0xff0U);
  CHECK(eval("bmsk.clamp.b32 %r0, %r1, %r2;", 4, 40) == 0xfffffff0U);
  CHECK(eval("bmsk.clamp.b32 %r0, %r1, %r2;", 32, 4) == 0);
  CHECK(eval("bmsk.wrap.b32 %r0, %r1, %r2;", 36, 33) == 0x10U);
  CHECK(eval("bmsk.wrap.b32 %r0, %r1, %r2;", 28, 8) == 0xf0000000U);
  CHECK(eval("bmsk.wrap.b32 %r0, %r1, %r2;", 3, 32) == 0);
  CHECK(eval("szext.wrap.s32 %r0, %r1, %r2;", 0x1f0, 8) == 0xfffffff0U);
  CHECK(eval("szext.wrap.u32 %r0, %r1, %r2;", 0x1f0, 8) == 0xf0U);
  CHECK(eval("szext.wrap.s32 %r0, %r1, %r2;", 0xffffffff, 32) == 0);
  CHECK(eval("szext.clamp.s32 %r0, %r1, %r2;", 0x80000001, 32) == 0x80000001U);
  CHECK(eval("szext.clamp.u32 %r0, %r1, %r2;", 0xffffffff, 0) == 0);
  CHECK(eval("fns.b32 %r0, %r1, %r2, %r3;", 0xb0, 0, 2) == 5);
  CHECK(eval("fns.b32 %r0, %r1, %r2, %r3;", 0xb0, 31, u32(-1)) == 7);
  CHECK(eval("fns.b32 %r0, %r1, %r2, %r3;", 0xb0, 4, 0) == 4);
  CHECK(eval("fns.b32 %r0, %r1, %r2, %r3;", 0xb0, 6, 0) == 0xffffffffU);
  CHECK(eval("fns.b32 %r0, %r1, %r2, %r3;", 0xb0, 0, 9) == 0xffffffffU);
}

TEST_CASE("prmt in its modes") {
  const u64 a = 0x33221100;
  const u64 b = 0x77665544;
  CHECK(eval("prmt.b32.f4e %r0, %r1, %r2, %r3;", a, b, 1) == 0x44332211U);
  CHECK(eval("prmt.b32.b4e %r0, %r1, %r2, %r3;", a, b, 0) == 0x55667700U);
  CHECK(eval("prmt.b32.b4e %r0, %r1, %r2, %r3;", a, b, 3) == 0x00112233U);
  CHECK(eval("prmt.b32.rc8 %r0, %r1, %r2, %r3;", a, b, 2) == 0x22222222U);
  CHECK(eval("prmt.b32.ecl %r0, %r1, %r2, %r3;", a, b, 1) == 0x33221111U);
  CHECK(eval("prmt.b32.ecr %r0, %r1, %r2, %r3;", a, b, 1) == 0x11111100U);
  CHECK(eval("prmt.b32.rc16 %r0, %r1, %r2, %r3;", a, b, 1) == 0x33223322U);
}

TEST_CASE("lop3 tests its result") {
  CHECK(holds("setp.eq.u32 %p1, %r3, %r3; lop3.and.b32 %r4|%p0, %r1, %r2, %r3, 0xc0, %p1;", 6, 4));
  CHECK_FALSE(
      holds("setp.eq.u32 %p1, %r3, %r3; lop3.and.b32 %r4|%p0, %r1, %r2, %r3, 0xc0, %p1;", 6, 9));
  CHECK(holds("setp.eq.u32 %p1, %r3, %r3; lop3.or.b32 %r4|%p0, %r1, %r2, %r3, 0xc0, %p1;", 6, 9));
  CHECK_FALSE(
      holds("setp.eq.u32 %p1, %r3, %r3; lop3.or.b32 _|%p0, %r1, %r2, %r3, 0xc0, !%p1;", 6, 9));
}

TEST_CASE("SIMD video: bytes and halves") {
  CHECK(eval("vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x01ff0010, 0x02000110, 9) ==
        0x01ff0100U);
  CHECK(eval("vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3;", 0x01ff0010, 0x02000110, 9) ==
        9 + 1 + 255 + 1);
  CHECK(eval("vadd4.s32.s32.s32.sat %r0, %r1, %r2, %r3;", 0x7f80017f, 0x01ff01ff) == 0x7f80027eU);
  CHECK(eval("vsub2.u32.u32.u32.sat %r0, %r1, %r2, %r3;", 0x00010005, 0x00020001) == 0x00000004U);
  CHECK(eval("vavrg4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x01020304, 0x02020205) == 0x02020305U);
  CHECK(eval("vavrg2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0xffff0001, 0xfffe0002) == 0xfffe0002U);
  CHECK(eval("vmin2.s32.s32.s32 %r0, %r1, %r2, %r3;", 0x8000ffff, 0x00010001) == 0x8000ffffU);
  CHECK(eval("vmax4.u32.u32.u32 %r0, %r1, %r2, %r3;", 0x01ff0010, 0x02000110) == 0x02ff0110U);
  CHECK(eval("vset4.u32.u32.lt %r0, %r1, %r2, %r3;", 0x01ff0010, 0x02000110) == 0x01000100U);
  CHECK(eval("vset2.s32.s32.ge.add %r0, %r1, %r2, %r3;", 0x00010001, 0xffff0001, 5) == 7);
}

TEST_CASE("values of 128 bits and bytes of registers") {
  CHECK(eval("mov.b128 %q1, {%l1, %l2}; mov.b128 %q2, %q1; mov.b128 {_, %l0}, %q2;", 5, 9) == 9);
  CHECK(eval("mov.b128 %q1, {%r1, %r2, %r3, %r1}; mov.b128 {%l0, _}, %q1;", 5, 9) == 0x900000005U);
  CHECK(eval("mov.b128 %q1, {%l1, %l2}; mov.b128 {_, _, %r0, _}, %q1;", 5, 0x700000009U) == 9);
  CHECK(eval("st.global.b128 [%l4], %q1; mov.b128 %q1, {%l1, %l2}; st.global.b128 [%l4], %q1;"
             " ld.global.b128 %q2, [%l4]; mov.b128 {_, %l0}, %q2;",
             5, 77) == 77);
  CHECK(eval("mov.b32 {%b1, %b2, %b3, %b4}, %r1; mov.b16 %h0, {%b4, %b1};", 0x44332211) == 0x1144);
  CHECK(eval("mov.b16 {%b1, %b2}, %h1; mov.b32 %r0, {%b2, %b1, %b2, %b2};", 0x2211) == 0x22221122U);
}

}  // namespace fa_tune::test
