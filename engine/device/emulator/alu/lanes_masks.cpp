#include "engine/device/emulator/alu/lanes_map.hpp"

// Masks and permutations that compilers seldom write: prmt with a mode, fns, bmsk, szext, lop3 with
// a predicate.

namespace fa_tune::emulator::FA_LANES {
namespace {

// prmt.mode: the bytes of {b, a} that each selector takes, highest first in the text of the ISA.
// Here byte 0 comes first; modes in the order f4e, b4e, rc8, ecl, ecr, rc16.
constexpr u8 kPermutations[6][4][4] = {
    {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
    {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
    {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
    {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
    {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
    {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
};

void run_permute_mode(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const auto* c = source<u32>(lanes, op.r[3]);
  for (int i = 0; i < kWarpSize; ++i) {
    const u64 bytes = static_cast<u64>(b[i]) << 32 | a[i];
    const u8* from = kPermutations[op.m[0]][c[i] & 3U];
    u32 result = 0;
    for (u32 j = 0; j < 4; ++j)
      result |= (static_cast<u32>(bytes >> (8 * from[j])) & 0xffU) << (8 * j);
    target.out[i] = result;
  }
  target.finish();
}

// fns: position of the set bit number |n| of a, counted up or down from a base.
[[gnu::always_inline]] inline u32 find_nth(u32 a, u32 base, s32 n) {
  if (n == 0) return base < 32 && (a >> base & 1U) != 0 ? base : ~0U;
  u32 left = n < 0 ? 0U - static_cast<u32>(n) : static_cast<u32>(n);
  const u32 step = n < 0 ? ~0U : 1U;
  for (u32 at = base; at < 32; at += step) {
    if ((a >> at & 1U) != 0 && --left == 0) return at;
  }
  return ~0U;
}

// bmsk: `length` ones from `from` on. Clamped, amounts of 32 and more mean beyond the word; else
// they count modulo 32.
[[gnu::always_inline]] inline u32 bit_mask(u32 from, u32 length, bool clamp) {
  if (clamp && from >= 32) return 0;
  const u32 begin = from & 31U;
  const u32 count = clamp && length >= 32 ? 32U : length & 31U;
  return (static_cast<u32>((u64{1} << count) - 1)) << begin;
}

// szext: the low bits of a, extended.
[[gnu::always_inline]] inline u32 extend(u32 a, u32 length, bool clamp, bool is_signed) {
  if (clamp && length >= 32) return a;
  const u32 count = length & 31U;
  if (count == 0) return 0;
  const u32 rest = 32 - count;
  return is_signed ? static_cast<u32>(static_cast<s32>(a << rest) >> rest) : a << rest >> rest;
}

// cvt.pack: two integers of 32 bits, clamped to m[0] bits each, a above b; what is left of the word
// comes from c's low end, if there is a c. m[1]: bit 0: to signed; bit 1: from signed.
void run_pack_saturated(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const u32 bits = op.m[0];
  const bool to_signed = (op.m[1] & 1U) != 0;
  const bool from_signed = (op.m[1] & 2U) != 0;
  const s64 top = static_cast<s64>((u64{1} << (to_signed ? bits - 1 : bits)) - 1);
  const s64 bottom = to_signed ? -top - 1 : 0;
  const auto clamped = [&](u32 word) {
    const s64 value = from_signed ? s64{static_cast<s32>(word)} : s64{word};
    const s64 held = value < bottom ? bottom : value > top ? top : value;
    return static_cast<u32>(held) & static_cast<u32>((u64{1} << bits) - 1);
  };
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const u32* c = op.r[3] == kNoOperand ? nullptr : source<u32>(lanes, op.r[3]);
  for (int i = 0; i < kWarpSize; ++i) {
    u32 result = clamped(a[i]) << bits | clamped(b[i]);
    if (c != nullptr && bits < 16) result |= c[i] << (2 * bits);
    target.out[i] = result;
  }
  target.finish();
}

void run_pack_bytes(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  for (int i = 0; i < kWarpSize; ++i) {
    u32 result = 0;
    for (u32 j = 0; j < 4 && op.r[1 + j] != kNoOperand; ++j) {
      result |= (source<u32>(lanes, op.r[1 + j])[i] & 0xffU) << (8 * j);
    }
    target.out[i] = result;
  }
  target.finish();
}
void run_unpack_byte(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  for (int i = 0; i < kWarpSize; ++i) target.out[i] = a[i] >> op.m[0] & 0xffU;
  target.finish();
}

// lop3.BoolOp: also p = (d != 0) BoolOp q.
void run_lop3_test(LaneFile& lanes, const Op& op, u32 mask) {
  const u32 q = op.m[1] != 0 ? ~lanes.predicates[op.r[5]] : lanes.predicates[op.r[5]];
  u32 any = 0;
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const auto* c = source<u32>(lanes, op.r[3]);
  for (u32 i = 0; i < kWarpSize; ++i) {
    u32 result = 0;
    for (u32 term = 0; term < 8; ++term) {
      const u32 x = (term & 4U) != 0 ? a[i] : ~a[i];
      const u32 y = (term & 2U) != 0 ? b[i] : ~b[i];
      const u32 z = (term & 1U) != 0 ? c[i] : ~c[i];
      if ((op.immediate >> term & 1) != 0) result |= x & y & z;
    }
    target.out[i] = result;
    any |= static_cast<u32>(result != 0) << i;
  }
  target.finish();
  u32& p = lanes.predicates[op.r[4]];
  switch (static_cast<Combine>(op.m[0])) {
    case Combine::with_and:
      any &= q;
      break;
    case Combine::with_or:
      any |= q;
      break;
    default:
      any ^= q;
      break;
  }
  p = (p & ~mask) | (any & mask);
}

}  // namespace

Handler masks_handler(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::convert_pack:
      return run_pack_saturated;
    case LaneOp::pack_bytes:
      return run_pack_bytes;
    case LaneOp::unpack_byte:
      return run_unpack_byte;
    case LaneOp::lop3_test:
      return run_lop3_test;
    case LaneOp::prmt_mode:
      return run_permute_mode;
    case LaneOp::fns:
      return three<u32, u32, u32, s32>([](u32 a, u32 base, s32 n) { return find_nth(a, base, n); });
    case LaneOp::bmsk:
      return key.option ? two<u32, u32, u32>([](u32 a, u32 b) { return bit_mask(a, b, true); })
                        : two<u32, u32, u32>([](u32 a, u32 b) { return bit_mask(a, b, false); });
    case LaneOp::szext:
      if (key.type == Type::s32) {
        return key.option
                   ? two<u32, u32, u32>([](u32 a, u32 b) { return extend(a, b, true, true); })
                   : two<u32, u32, u32>([](u32 a, u32 b) { return extend(a, b, false, true); });
      }
      return key.option
                 ? two<u32, u32, u32>([](u32 a, u32 b) { return extend(a, b, true, false); })
                 : two<u32, u32, u32>([](u32 a, u32 b) { return extend(a, b, false, false); });
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
