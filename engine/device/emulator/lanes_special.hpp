#pragma once

#include "engine/device/emulator/lanes_real.hpp"

// The special-function unit, bit for bit as an H100 computes: a table over the leading bits of the
// argument and a quadratic in the rest (Oberman and Siu 2005, "A high-performance area-efficient
// multifunction interpolator"). The widths, the coefficients and the partial products that its
// squarer leaves out were worked out from the GPU's own answers to whole binades of arguments; see
// tools/bench/approximations.cpp, which compares all 2^32.

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
constexpr u32 ex2_c0[64] = {
    3,        365386,   734750,   1108133,  1485586,  1867145,  2252860,  2642777,
    3036940,  3435393,  3838184,  4245365,  4656977,  5073072,  5493699,  5918905,
    6348741,  6783258,  7222505,  7666538,  8115404,  8569160,  9027854,  9491545,
    9960285,  10434129, 10913133, 11397354, 11886846, 12381669, 12881882, 13387539,
    13898703, 14415435, 14937793, 15465837, 15999633, 16539242, 17084727, 17636150,
    18193579, 18757078, 19326714, 19902551, 20484659, 21073106, 21667961, 22269293,
    22877175, 23491674, 24112865, 24740822, 25375616, 26017322, 26666015, 27321773,
    27984672, 28654788, 29332202, 30016992, 30709240, 31409026, 32116431, 32831540};
constexpr u32 ex2_c1[64] = {
    22713, 22960, 23210, 23463, 23718, 23977, 24238, 24502, 24768, 25038, 25311, 25586, 25865,
    26147, 26431, 26719, 27010, 27304, 27602, 27902, 28206, 28513, 28824, 29138, 29455, 29776,
    30100, 30428, 30759, 31094, 31432, 31775, 32121, 32471, 32824, 33182, 33543, 33908, 34277,
    34651, 35028, 35409, 35795, 36185, 36579, 36977, 37380, 37787, 38198, 38614, 39035, 39460,
    39889, 40324, 40763, 41207, 41655, 42109, 42568, 43031, 43500, 43973, 44452, 44936};
constexpr u32 ex2_c2[64] = {494, 501, 506, 511, 518, 521, 527, 532, 541, 546, 551, 559, 564,
                            568, 577, 583, 589, 596, 600, 609, 615, 622, 627, 633, 641, 647,
                            655, 661, 670, 677, 686, 691, 699, 705, 715, 721, 730, 739, 748,
                            753, 763, 773, 779, 787, 796, 806, 813, 822, 833, 842, 849, 858,
                            870, 877, 887, 896, 909, 917, 925, 938, 946, 959, 969, 980};

// The mantissa of 2^(f / 2^23).
FA_INLINE u32 ex2_mantissa(u32 f) {
  const u32 row = f >> 17;
  const u32 t = f & 0x1ffffU;
  const u64 fine = static_cast<u64>(ex2_c1[row]) * t +
                   static_cast<u64>(ex2_c2[row]) * truncated_square(t) + 6114U;
  return (ex2_c0[row] + static_cast<u32>(fine >> 13)) >> 2;
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

}  // namespace fa_tune::emulator::FA_LANES
