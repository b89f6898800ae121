#include "engine/device/emulator/alu/lanes_map.hpp"

// The SIMD video instructions on four bytes or two halves of a word: vadd, vsub, vavrg, vabsdiff,
// vmin, vmax, vset (PTX ISA, video instructions). Op fields: m[0]: Video; m[1]: bits of an element,
// 8 or 16; m[2]: bit 0 d, bit 1 a, bit 2 b is signed; m[3]: 0 plain, 1 .sat, 2 .add; m[4]: Compare.
// r: d, a, b, c. All elements of d are written, c counts for .add alone.

namespace fa_tune::emulator::FA_LANES {
namespace {

[[gnu::always_inline]] inline s32 element(u32 word, u32 bits, u32 index, bool is_signed) {
  const u32 value = word >> (bits * index) & ((1U << bits) - 1);
  const u32 rest = 32 - bits;
  return is_signed ? static_cast<s32>(value << rest) >> rest : static_cast<s32>(value);
}

s32 holds(Compare compare, s32 a, s32 b) {
  switch (compare) {
    case Compare::eq:
      return static_cast<s32>(a == b);
    case Compare::ne:
      return static_cast<s32>(a != b);
    case Compare::lt:
      return static_cast<s32>(a < b);
    case Compare::le:
      return static_cast<s32>(a <= b);
    case Compare::gt:
      return static_cast<s32>(a > b);
    default:
      return static_cast<s32>(a >= b);
  }
}

s32 combine(Video what, Compare compare, s32 a, s32 b) {
  switch (what) {
    case Video::add:
      return a + b;
    case Video::sub:
      return a - b;
    case Video::average:  // rounded away from zero where it is a half
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case Video::difference:
      return a > b ? a - b : b - a;
    case Video::min:
      return a < b ? a : b;
    case Video::max:
      return a > b ? a : b;
    case Video::set:
      return holds(compare, a, b);
  }
  return 0;
}

void run_video(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const auto* c = source<u32>(lanes, op.r[3]);
  const u32 bits = op.m[1];
  const bool to_signed = (op.m[2] & 1U) != 0;
  const s32 top =
      to_signed ? static_cast<s32>((1U << (bits - 1)) - 1) : static_cast<s32>((1U << bits) - 1);
  const s32 bottom = to_signed ? -top - 1 : 0;
  for (int i = 0; i < kWarpSize; ++i) {
    u32 result = op.m[3] == 2 ? c[i] : 0;
    for (u32 j = 0; j < 32 / bits; ++j) {
      s32 value = combine(static_cast<Video>(op.m[0]), static_cast<Compare>(op.m[4]),
                          element(a[i], bits, j, (op.m[2] & 2U) != 0),
                          element(b[i], bits, j, (op.m[2] & 4U) != 0));
      if (op.m[3] == 2) {
        result += static_cast<u32>(value);
        continue;
      }
      if (op.m[3] == 1) value = value < bottom ? bottom : value > top ? top : value;
      result |= (static_cast<u32>(value) & ((1U << bits) - 1)) << (bits * j);
    }
    target.out[i] = result;
  }
  target.finish();
}

}  // namespace

Handler video_handler(const LaneKey&) { return run_video; }

}  // namespace fa_tune::emulator::FA_LANES
