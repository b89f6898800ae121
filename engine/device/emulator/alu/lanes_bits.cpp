#include "engine/device/emulator/alu/lanes_map.hpp"

// Logic, shifts, bit fields and moves.

namespace fa_tune::emulator::FA_LANES {
namespace {

// Shift amounts beyond the width give 0, or the sign, not the processor's amount modulo 32.
template <class U>
[[gnu::always_inline]] inline U shift_left(U a, u32 by) {
  constexpr u32 width = 8 * sizeof(U);
  return by < width ? static_cast<U>(a << (by & (width - 1))) : U{0};
}
template <class T>
[[gnu::always_inline]] inline T shift_right(T a, u32 by) {
  constexpr u32 width = 8 * sizeof(T);
  if constexpr (static_cast<T>(-1) < 0) {
    return static_cast<T>(a >> (by < width ? by : width - 1));
  } else {
    return by < width ? static_cast<T>(a >> (by & (width - 1))) : T{0};
  }
}

template <class U>
Handler logic(LaneOp op) {
  switch (op) {
    case LaneOp::mov:
      return one<U, U>([](U a) { return a; });
    case LaneOp::bit_and:
      return two<U, U, U>([](U a, U b) { return static_cast<U>(a & b); });
    case LaneOp::bit_or:
      return two<U, U, U>([](U a, U b) { return static_cast<U>(a | b); });
    case LaneOp::bit_xor:
      return two<U, U, U>([](U a, U b) { return static_cast<U>(a ^ b); });
    case LaneOp::bit_not:
      return one<U, U>([](U a) { return static_cast<U>(~a); });
    case LaneOp::cnot:
      return one<U, U>([](U a) { return static_cast<U>(a == 0); });
    case LaneOp::shl:
      return two<U, U, u32>([](U a, u32 by) { return shift_left(a, by); });
    default:
      return nullptr;
  }
}

template <class T>
Handler right_shift() {
  return two<T, T, u32>([](T a, u32 by) { return shift_right(a, by); });
}

// bfe: len bits of a from pos; a signed field is filled with its top bit, which is the top bit of a
// when the field reaches beyond it.
template <class T, class U>
Handler extract() {
  return three<T, T, u32, u32>([](T a, u32 b, u32 c) {
    constexpr u32 width = 8 * sizeof(T);
    const u32 from = b & 0xffU;
    const u32 length = c & 0xffU;
    if (length == 0) return T{0};
    const T shifted = shift_right(a, from);
    if (length >= width) return shifted;
    const u32 rest = width - length;
    return static_cast<T>(static_cast<T>(static_cast<U>(shifted) << rest) >> rest);
  });
}

template <class U>
[[gnu::always_inline]] inline U insert(U a, U b, u32 from, u32 length) {
  constexpr u32 width = 8 * sizeof(U);
  const U ones = length >= width ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << length) - 1);
  const U field = shift_left(ones, from);
  return static_cast<U>((b & static_cast<U>(~field)) | (shift_left(a, from) & field));
}

// bfi has five operands: d, a, b, c (position), d (length).
template <class U>
void run_insert(LaneFile& lanes, const Op& op, u32 mask) {
  Target<U> target(lanes, op, mask);
  const auto* a = source<U>(lanes, op.r[1]);
  const auto* b = source<U>(lanes, op.r[2]);
  const auto* from = source<u32>(lanes, op.r[3]);
  const auto* length = source<u32>(lanes, op.r[4]);
  for (int i = 0; i < kWarpSize; ++i) {
    target.out[i] =
        insert<U>(static_cast<U>(a[i]), static_cast<U>(b[i]), from[i] & 0xffU, length[i] & 0xffU);
  }
  target.finish();
}

template <class U>
[[gnu::always_inline]] inline u32 leading_zeros(U a) {
  if constexpr (sizeof(U) == 8) {
    return a == 0 ? 64U : static_cast<u32>(__builtin_clzll(a));
  } else {
    return a == 0 ? 32U : static_cast<u32>(__builtin_clz(a));
  }
}

// The highest bit that differs from the sign, or all ones.
template <class T, class U>
Handler find_bit(bool shift_amount) {
  constexpr u32 top = 8 * sizeof(U) - 1;
  if (shift_amount) {
    return one<u32, T>([](T a) {
      const U bits = a < 0 ? static_cast<U>(~static_cast<U>(a)) : static_cast<U>(a);
      return bits == 0 ? ~0U : leading_zeros(bits);
    });
  }
  return one<u32, T>([](T a) {
    const U bits = a < 0 ? static_cast<U>(~static_cast<U>(a)) : static_cast<U>(a);
    return bits == 0 ? ~0U : top - leading_zeros(bits);
  });
}

[[gnu::always_inline]] inline u32 reverse(u32 a) {
  a = (a >> 1 & 0x55555555U) | (a & 0x55555555U) << 1;
  a = (a >> 2 & 0x33333333U) | (a & 0x33333333U) << 2;
  a = (a >> 4 & 0x0f0f0f0fU) | (a & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(a);
}

[[gnu::always_inline]] inline u32 permute(u32 a, u32 b, u32 selectors) {
  const u64 bytes = static_cast<u64>(b) << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 selector = selectors >> (4 * i);
    u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7U))) & 0xffU;
    if ((selector & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0U;
    result |= byte << (8 * i);
  }
  return result;
}

// The table's bit number abc, for every bit of a, b and c.
void run_lop3(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const auto* c = source<u32>(lanes, op.r[3]);
  u32 term[8];
  for (u32 i = 0; i < 8; ++i) term[i] = (op.immediate >> i & 1) != 0 ? kFullMask : 0;
  u32* out = target.out;
  FA_VECTOR_LOOP
  for (int i = 0; i < kWarpSize; ++i) {
    const u32 x = a[i];
    const u32 y = b[i];
    const u32 z = c[i];
    out[i] = (~x & ~y & ~z & term[0]) | (~x & ~y & z & term[1]) | (~x & y & ~z & term[2]) |
             (~x & y & z & term[3]) | (x & ~y & ~z & term[4]) | (x & ~y & z & term[5]) |
             (x & y & ~z & term[6]) | (x & y & z & term[7]);
  }
  target.finish();
}

Handler funnel(bool left, bool clamp) {
  if (left && clamp) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
      const u64 both = static_cast<u64>(b) << 32 | a;
      const u32 by = c < 32U ? c : 32U;
      return static_cast<u32>((both << by) >> 32);
    });
  }
  if (left) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
      const u64 both = static_cast<u64>(b) << 32 | a;
      return static_cast<u32>((both << (c & 31U)) >> 32);
    });
  }
  if (clamp) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
      const u64 both = static_cast<u64>(b) << 32 | a;
      return static_cast<u32>(both >> (c < 32U ? c : 32U));
    });
  }
  return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
    const u64 both = static_cast<u64>(b) << 32 | a;
    return static_cast<u32>(both >> (c & 31U));
  });
}

Handler logic_of_32_bits(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::shf_left:
      return funnel(true, key.option);
    case LaneOp::shf_right:
      return funnel(false, key.option);
    case LaneOp::lop3:
      return run_lop3;
    case LaneOp::prmt:
      return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return permute(a, b, c); });
    case LaneOp::brev:
      return one<u32, u32>([](u32 a) { return reverse(a); });
    case LaneOp::clz:
      return one<u32, u32>([](u32 a) { return leading_zeros(a); });
    case LaneOp::popc:
      return one<u32, u32>([](u32 a) { return static_cast<u32>(__builtin_popcount(a)); });
    case LaneOp::bfi:
      return run_insert<u32>;
    case LaneOp::pack:  // {low, high} of 16 bits
      return two<u32, u32, u32>([](u32 a, u32 b) { return (a & 0xffffU) | b << 16; });
    default:
      return nullptr;
  }
}

Handler of_64_bits(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::brev:
      return one<u64, u64>([](u64 a) {
        return static_cast<u64>(reverse(static_cast<u32>(a))) << 32 |
               reverse(static_cast<u32>(a >> 32));
      });
    case LaneOp::clz:
      return one<u32, u64>([](u64 a) { return leading_zeros(a); });
    case LaneOp::popc:
      return one<u32, u64>([](u64 a) { return static_cast<u32>(__builtin_popcountll(a)); });
    case LaneOp::bfi:
      return run_insert<u64>;
    case LaneOp::pack:  // {low, high} of 32 bits
      return two<u64, u32, u32>([](u32 a, u32 b) { return static_cast<u64>(b) << 32 | a; });
    default:
      return nullptr;
  }
}

// unpack: bits of a from m[0] on, of the target's width.
void run_unpack16(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const u32 by = op.m[0];
  u32* out = target.out;
  FA_VECTOR_LOOP
  for (int i = 0; i < kWarpSize; ++i) out[i] = a[i] >> by & 0xffffU;
  target.finish();
}
void run_unpack32(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u64>(lanes, op.r[1]);
  for (int i = 0; i < kWarpSize; ++i) target.out[i] = static_cast<u32>(a[i] >> op.m[0]);
  target.finish();
}
void run_unpack64_16(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u64>(lanes, op.r[1]);
  for (int i = 0; i < kWarpSize; ++i) target.out[i] = static_cast<u16>(a[i] >> op.m[0]);
  target.finish();
}
// Four values of 16 bits to one of 64.
void run_pack4(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u64> target(lanes, op, mask);
  for (int i = 0; i < kWarpSize; ++i) {
    u64 value = 0;
    for (std::size_t part = 0; part < 4; ++part) {
      const u64 piece = source<u32>(lanes, op.r[1 + part])[i] & 0xffffU;
      value |= piece << (16 * part);
    }
    target.out[i] = value;
  }
  target.finish();
}

}  // namespace

Handler bits_handler(const LaneKey& key) {
  const int size = size_of(key.type);
  if (key.op == LaneOp::unpack) {
    if (key.type == Type::b32) return run_unpack16;
    return key.option ? run_unpack64_16 : run_unpack32;
  }
  if (key.op == LaneOp::pack && key.option) return run_pack4;
  if (key.op == LaneOp::shr) {
    switch (key.type) {
      case Type::s16:
        return right_shift<s16>();
      case Type::s32:
        return right_shift<s32>();
      case Type::s64:
        return right_shift<s64>();
      default:
        return size == 2 ? right_shift<u16>() : size == 4 ? right_shift<u32>() : right_shift<u64>();
    }
  }
  switch (key.type) {
    case Type::u32:
      if (key.op == LaneOp::bfe) return extract<u32, u32>();
      if (key.op == LaneOp::bfind) return find_bit<u32, u32>(key.option);
      break;
    case Type::s32:
      if (key.op == LaneOp::bfe) return extract<s32, u32>();
      if (key.op == LaneOp::bfind) return find_bit<s32, u32>(key.option);
      break;
    case Type::u64:
      if (key.op == LaneOp::bfe) return extract<u64, u64>();
      if (key.op == LaneOp::bfind) return find_bit<u64, u64>(key.option);
      break;
    case Type::s64:
      if (key.op == LaneOp::bfe) return extract<s64, u64>();
      if (key.op == LaneOp::bfind) return find_bit<s64, u64>(key.option);
      break;
    default:
      break;
  }
  if (size == 4) {
    if (const Handler handler = logic_of_32_bits(key)) return handler;
    return logic<u32>(key.op);
  }
  if (size == 8) {
    if (const Handler handler = of_64_bits(key)) return handler;
    return logic<u64>(key.op);
  }
  return size == 2 ? logic<u16>(key.op) : nullptr;
}

}  // namespace fa_tune::emulator::FA_LANES
