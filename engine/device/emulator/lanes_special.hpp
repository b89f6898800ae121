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

// 1/m: 7 bits of the mantissa choose the row. Units as above.
constexpr s32 rcp_c0[128] = {
    33554432, 33034210, 32521990, 32017589, 31520830, 31031544, 30549560, 30074714, 29606852,
    29145822, 28691473, 28243659, 27802245, 27367092, 26938067, 26515042, 26097893, 25686498,
    25280738, 24880498, 24485667, 24096137, 23711799, 23332554, 22958297, 22588934, 22224366,
    21864502, 21509254, 21158529, 20812245, 20470315, 20132661, 19799201, 19469856, 19144555,
    18823219, 18505780, 18192164, 17882305, 17576133, 17273585, 16974597, 16679106, 16387050,
    16098371, 15813010, 15530910, 15252017, 14976273, 14703628, 14434032, 14167429, 13903772,
    13643012, 13385102, 13129997, 12877650, 12628014, 12381048, 12136711, 11894960, 11655753,
    11419049, 11184812, 10953004, 10723584, 10496516, 10271767, 10049298, 9829078,  9611071,
    9395243,  9181563,  8969998,  8760518,  8553093,  8347690,  8144282,  7942838,  7743332,
    7545736,  7350021,  7156161,  6964129,  6773901,  6585451,  6398754,  6213786,  6030523,
    5848939,  5669016,  5490727,  5314052,  5138969,  4965456,  4793492,  4623057,  4454131,
    4286691,  4120722,  3956201,  3793111,  3631434,  3471150,  3312241,  3154692,  2998483,
    2843598,  2690020,  2537732,  2386719,  2236964,  2088452,  1941167,  1795096,  1650220,
    1506527,  1364004,  1222632,  1082403,  943300,   805309,   668417,   532612,   397881,
    264209,   131587};
constexpr s32 rcp_c1[128] = {
    -65534, -64522, -63533, -62567, -61622, -60699, -59797, -58914, -58051, -57207, -56381, -55572,
    -54781, -54007, -53249, -52507, -51780, -51068, -50371, -49688, -49019, -48363, -47721, -47091,
    -46473, -45868, -45274, -44692, -44121, -43560, -43011, -42471, -41942, -41423, -40913, -40412,
    -39921, -39439, -38965, -38500, -38043, -37594, -37153, -36720, -36294, -35876, -35464, -35060,
    -34663, -34272, -33888, -33511, -33140, -32774, -32415, -32062, -31714, -31373, -31036, -30705,
    -30379, -30059, -29743, -29432, -29127, -28826, -28529, -28237, -27950, -27667, -27388, -27114,
    -26843, -26577, -26314, -26056, -25801, -25550, -25302, -25058, -24818, -24581, -24348, -24117,
    -23890, -23667, -23446, -23228, -23014, -22802, -22593, -22388, -22184, -21984, -21787, -21592,
    -21399, -21209, -21022, -20837, -20655, -20475, -20297, -20122, -19949, -19778, -19609, -19443,
    -19278, -19116, -18956, -18797, -18641, -18487, -18334, -18184, -18035, -17888, -17743, -17600,
    -17458, -17318, -17180, -17043, -16908, -16775, -16643, -16513};
constexpr s32 rcp_c2[128] = {
    1013, 989, 966, 945, 923, 902, 883, 863, 845, 827, 809, 791, 774, 758, 742, 727, 711, 696, 682,
    669,  656, 642, 631, 618, 605, 594, 582, 572, 561, 549, 540, 529, 519, 510, 501, 490, 482, 474,
    465,  457, 449, 441, 433, 426, 418, 412, 403, 397, 390, 383, 377, 371, 366, 358, 353, 348, 341,
    337,  331, 326, 320, 316, 310, 305, 302, 297, 291, 287, 283, 279, 274, 271, 266, 263, 258, 256,
    251,  248, 243, 240, 237, 233, 231, 226, 223, 222, 218, 214, 212, 208, 205, 204, 199, 197, 196,
    193,  189, 186, 184, 182, 180, 178, 175, 173, 171, 169, 166, 165, 161, 160, 159, 155, 154, 153,
    150,  149, 147, 145, 143, 143, 140, 138, 137, 135, 133, 132, 131, 130};

// MUFU.RCP: subnormals are zeros, before and after.
FA_INLINE float special_rcp(float x) {
  const u32 bits = bits_of(x);
  const u32 row = bits >> 16 & 0x7fU;
  const u32 t = bits & 0xffffU;
  const s64 fine = static_cast<s64>(rcp_c1[row]) * static_cast<s32>(t) +
                   static_cast<s64>(rcp_c2[row]) * static_cast<s32>(truncated_square(t << 1)) +
                   2023;
  const s32 mantissa = (rcp_c0[row] + static_cast<s32>(fine >> 13)) >> 2;
  const s32 exponent = static_cast<s32>(bits >> 23 & 0xffU);
  const s32 magnitude = 0x3f000000 + mantissa + (127 - exponent) * (1 << 23);
  u32 result = magnitude < 0x00800000 ? 0U : static_cast<u32>(magnitude);
  result = exponent == 0 ? 0x7f800000U : result;
  result = exponent == 255 ? 0U : result;
  return x == x ? float_of(result | (bits & 0x80000000U)) : float_of(0x7fffffffU);
}

}  // namespace fa_tune::emulator::FA_LANES
