#pragma once

#include "engine/device/emulator/alu/lanes_real.hpp"
#include "engine/device/emulator/alu/lanes_special_tables.hpp"

// The special-function unit, bit for bit as an H100 computes: a table over the leading bits of the
// argument and a quadratic in the rest (Oberman and Siu 2005, "A high-performance area-efficient
// multifunction interpolator"). The widths, the coefficients and the partial products that its
// squarer leaves out were worked out from the GPU's own answers to whole binades of arguments; see
// tools/bench/emulator/approximations.cpp, which compares all 2^32.

namespace fa_tune::emulator::FA_LANES {

// t^2 of 17 bits without the partial products below 2^19, in units of 2^19: of t_i t_j only those
// with i + j >= 18 count (twice), of squares of single bits those from bit 10 on.
FA_INLINE u32 truncated_square(u32 t) {
  u32 sum = 0;
#pragma GCC unroll 7
  for (u32 i = 10; i <= 16; ++i) {
    const u32 others = (t & ((1U << i) - 1U)) >> (18U - i);
    const u32 term = others + (1U << (2U * i - 19U));
    sum += (0U - (t >> i & 1U)) & term;
  }
  return sum;
}

// 2^f of a fraction f of 23 bits: its leading 6 choose the row, t is the rest. c0 counts quarters
// of the result's last place, c1 and c2 2^-15 of it.

// The mantissa of 2^(f / 2^23).
FA_INLINE u32 ex2_mantissa(u32 f) {
  const u32 row = f >> 17;
  const u32 t = f & 0x1ffffU;
  const u64 fine = static_cast<u64>(kEx2C1[row]) * t +
                   static_cast<u64>(kEx2C2[row]) * truncated_square(t) + 6114U;
  return (kEx2C0[row] + static_cast<u32>(fine >> 13)) >> 2;
}

// MUFU.EX2. The argument becomes a number of 23 fraction bits, cut off; a negative one is
// complemented without the carry, unless its fraction is zero.
FA_INLINE float special_ex2(float x) {
  const u32 bits = bits_of(x);
  const float size = float_of(bits & 0x7fffffffU);
  const float held = size < 255.0F ? size : 255.0F;  // also of a NaN
  const u32 fixed = static_cast<u32>(static_cast<s32>(held * 0x1p23F));
  const u32 borrow = (fixed & 0x7fffffU) != 0 ? 1U : 0U;
  const u32 signed_fixed = (bits >> 31) != 0 ? 0U - fixed - borrow : fixed;
  const s32 exponent = static_cast<s32>(signed_fixed) >> 23;
  const u32 mantissa = ex2_mantissa(signed_fixed & 0x7fffffU);
  u32 result = static_cast<u32>(exponent + 127) << 23 | mantissa;
  result = exponent > 127 ? 0x7f800000U : result;
  result = exponent < -126 ? 0U : result;
  return x == x ? float_of(result) : float_of(0x7fffffffU);
}

// 1/m: 7 bits of the mantissa choose the row. Units as above.

// MUFU.RCP: subnormals are zeros, before and after.
FA_INLINE float special_rcp(float x) {
  const u32 bits = bits_of(x);
  const u32 row = bits >> 16 & 0x7fU;
  const u32 t = bits & 0xffffU;
  const s64 fine = static_cast<s64>(kRcpC1[row]) * static_cast<s32>(t) +
                   static_cast<s64>(kRcpC2[row]) * static_cast<s32>(truncated_square(t << 1)) +
                   2023;
  const s32 mantissa = (kRcpC0[row] + static_cast<s32>(fine >> 13)) >> 2;
  const s32 exponent = static_cast<s32>(bits >> 23 & 0xffU);
  const s32 magnitude = 0x3f000000 + mantissa + (127 - exponent) * (1 << 23);
  u32 result = magnitude < 0x00800000 ? 0U : static_cast<u32>(magnitude);
  result = exponent == 0 ? 0x7f800000U : result;
  result = exponent == 255 ? 0U : result;
  return x == x ? float_of(result | (bits & 0x80000000U)) : float_of(0x7fffffffU);
}

// A row of a root's table: like the above in finer units, 2^-14 of a quarter of the last place, and
// with products rounded down at once.
FA_INLINE s32 root_mantissa(s32 c0, s32 c1, s32 c2, u32 t, s32 shift) {
  const s64 fine = static_cast<s64>(c1) * static_cast<s32>(t) +
                   static_cast<s64>(c2) * static_cast<s32>(truncated_square(t)) +
                   ((1 << shift) - 1);
  return (c0 + static_cast<s32>(fine >> shift)) >> 2;
}

// MUFU.RSQ: subnormals are zeros.
FA_INLINE float special_rsqrt(float x) {
  const u32 bits = bits_of(x);
  const u32 row = bits >> 17 & 0x3fU;
  const u32 t = bits & 0x1ffffU;
  const s32 exponent = static_cast<s32>(bits >> 23 & 0xffU) - 127;
  const bool odd = (exponent & 1) != 0;
  const s32 c0 = odd ? kRsqrtOddC0[row] : kRsqrtEvenC0[row];
  const s32 c1 = odd ? kRsqrtOddC1[row] : kRsqrtEvenC1[row];
  const s32 c2 = odd ? kRsqrtOddC2[row] : kRsqrtEvenC2[row];
  s32 mantissa = root_mantissa(c0, c1, c2, t, 14);
  mantissa = !odd && (bits & 0x7fffffU) == 0 ? 0x800000 : mantissa;
  u32 result = static_cast<u32>(0x3f000000 + mantissa - (exponent >> 1) * (1 << 23));
  const u32 sign = bits & 0x80000000U;
  result = bits == 0x7f800000U ? 0U : result;
  result = (bits & 0x7f800000U) == 0 ? 0x7f800000U | sign : result;
  const bool wrong = x != x || (sign != 0 && (bits & 0x7f800000U) != 0);
  return wrong ? float_of(0x7fffffffU) : float_of(result);
}

// MUFU.SQRT likewise.
FA_INLINE float special_sqrt(float x) {
  const u32 bits = bits_of(x);
  const u32 row = bits >> 17 & 0x3fU;
  const u32 t = bits & 0x1ffffU;
  const s32 exponent = static_cast<s32>(bits >> 23 & 0xffU) - 127;
  const bool odd = (exponent & 1) != 0;
  const s32 mantissa =
      odd ? root_mantissa(kSqrtOddC0[row], kSqrtOddC1[row], kSqrtOddC2[row], t, 14)
          : root_mantissa(kSqrtEvenC0[row], kSqrtEvenC1[row], kSqrtEvenC2[row], t, 15);
  u32 result = static_cast<u32>(0x3f800000 + mantissa + (exponent >> 1) * (1 << 23));
  const u32 sign = bits & 0x80000000U;
  result = bits == 0x7f800000U ? bits : result;
  result = (bits & 0x7f800000U) == 0 ? sign : result;
  const bool wrong = x != x || (sign != 0 && (bits & 0x7f800000U) != 0);
  return wrong ? float_of(0x7fffffffU) : float_of(result);
}

}  // namespace fa_tune::emulator::FA_LANES
