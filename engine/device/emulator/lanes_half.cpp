#include "engine/device/emulator/lanes_real.hpp"

// f16 and bf16 arithmetic, alone and in pairs. A sum or a product of two is computed in f32 and
// rounded again, which is exact because f32 has more than twice their bits and two; a fused product
// and sum goes through rounding to odd.

namespace fa_tune::emulator::FA_LANES {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

struct HalfFormat {
  static constexpr u16 nan = 0x7fff;
  static constexpr u16 one = 0x3c00;
  FA_INLINE static float to(u16 bits) { return half_to(bits); }
  FA_INLINE static u16 from(float value) { return half_from(value); }
  FA_INLINE static u16 fma(u16 a, u16 b, u16 c) {
    return half_from(add_odd(half_to(a) * half_to(b), half_to(c)));
  }
};

struct BfloatFormat {
  static constexpr u16 nan = 0x7fff;
  static constexpr u16 one = 0x3f80;
  FA_INLINE static float to(u16 bits) { return bfloat_to(bits); }
  FA_INLINE static u16 from(float value) { return bfloat_from(value); }
  // f32 has the exponent range of bf16, so the product needs a double.
  FA_INLINE static u16 fma(u16 a, u16 b, u16 c) {
    const double product = static_cast<double>(to(a)) * static_cast<double>(to(b));
    const double sum = add_odd(product, static_cast<double>(to(c)));
    const float nearest = static_cast<float>(sum);
    const double error = sum - static_cast<double>(nearest);
    const u32 bits = bits_of(nearest);
    const bool inexact = error > 0.0 || error < 0.0;
    const bool outward = (error > 0.0) == (nearest > 0.0F);
    const bool step = inexact && (bits & 1U) == 0 && nearest != 0.0F;
    return from(step ? float_of(outward ? bits + 1 : bits - 1) : nearest);
  }
};

template <class Format>
FA_INLINE u16 relu(u16 bits) {
  const bool is_nan = (bits & 0x7fffU) > (Format::one == 0x3c00 ? 0x7c00U : 0x7f80U);
  const u16 positive = (bits & 0x8000U) != 0 ? u16{0} : bits;
  return is_nan ? Format::nan : positive;
}
template <class Format>
FA_INLINE u16 clamp(u16 bits) {
  return Format::from(saturate(Format::to(bits)));
}
// 0: as it is, 1: relu, 2: sat.
template <class Format, int Finish>
FA_INLINE u16 finish(u16 bits) {
  if constexpr (Finish == 1) return relu<Format>(bits);
  if constexpr (Finish == 2) return clamp<Format>(bits);
  return bits;
}

template <class Format, bool Max, bool Nan>
FA_INLINE u16 extreme(u16 a, u16 b) {
  const float x = Format::to(a);
  const float y = Format::to(b);
  // As integers in order of value, so that -0 is below +0.
  const auto order = [](u16 bits) {
    return (bits & 0x8000U) != 0 ? 0x7fffU - (bits & 0x7fffU) : 0x8000U + bits;
  };
  const bool first = Max ? order(a) > order(b) : order(a) < order(b);
  u16 result = first ? a : b;
  result = x != x ? b : result;
  result = y != y ? a : result;
  if (Nan) return x != x || y != y ? Format::nan : result;
  return x != x && y != y ? Format::nan : result;
}

// The same function on a value alone or on each of a pair.
template <bool Pair, class F>
Handler half_one(F) {
  if constexpr (Pair) {
    return one<u32, u32>([](u32 a) {
      const u32 low = F{}(static_cast<u16>(a));
      const u32 high = F{}(static_cast<u16>(a >> 16));
      return low | high << 16;
    });
  } else {
    return one<u16, u16>(F{});
  }
}
template <bool Pair, class F>
Handler half_two(F) {
  if constexpr (Pair) {
    return two<u32, u32, u32>([](u32 a, u32 b) {
      const u32 low = F{}(static_cast<u16>(a), static_cast<u16>(b));
      const u32 high = F{}(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16));
      return low | high << 16;
    });
  } else {
    return two<u16, u16, u16>(F{});
  }
}
template <bool Pair, class F>
Handler half_three(F) {
  if constexpr (Pair) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
      const u32 low = F{}(static_cast<u16>(a), static_cast<u16>(b), static_cast<u16>(c));
      const u32 high =
          F{}(static_cast<u16>(a >> 16), static_cast<u16>(b >> 16), static_cast<u16>(c >> 16));
      return low | high << 16;
    });
  } else {
    return three<u16, u16, u16, u16>(F{});
  }
}

template <class Format, bool Pair, int Finish>
Handler sums(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return half_two<Pair>([](u16 a, u16 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) + Format::to(b)));
      });
    case LaneOp::sub:
      return half_two<Pair>([](u16 a, u16 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) - Format::to(b)));
      });
    case LaneOp::mul:
      return half_two<Pair>([](u16 a, u16 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) * Format::to(b)));
      });
    case LaneOp::fma:
      return half_three<Pair>(
          [](u16 a, u16 b, u16 c) { return finish<Format, Finish>(Format::fma(a, b, c)); });
    default:
      return nullptr;
  }
}

template <class Format, bool Pair>
Handler of_format(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::min:
      return key.nan
                 ? half_two<Pair>([](u16 a, u16 b) { return extreme<Format, false, true>(a, b); })
                 : half_two<Pair>([](u16 a, u16 b) { return extreme<Format, false, false>(a, b); });
    case LaneOp::max:
      return key.nan
                 ? half_two<Pair>([](u16 a, u16 b) { return extreme<Format, true, true>(a, b); })
                 : half_two<Pair>([](u16 a, u16 b) { return extreme<Format, true, false>(a, b); });
    case LaneOp::abs:
      return half_one<Pair>([](u16 a) { return static_cast<u16>(a & 0x7fffU); });
    case LaneOp::neg:
      return half_one<Pair>([](u16 a) { return static_cast<u16>(a ^ 0x8000U); });
    case LaneOp::ex2:
      return half_one<Pair>([](u16 a) {
        return Format::from(static_cast<float>(__builtin_exp2(static_cast<double>(Format::to(a)))));
      });
    case LaneOp::tanh:
      return half_one<Pair>([](u16 a) {
        return Format::from(static_cast<float>(__builtin_tanh(static_cast<double>(Format::to(a)))));
      });
    default:
      if (key.relu && key.op == LaneOp::fma) return sums<Format, Pair, 1>(key.op);
      if (key.relu) return nullptr;
      return key.sat ? sums<Format, Pair, 2>(key.op) : sums<Format, Pair, 0>(key.op);
  }
}

}  // namespace

Handler half_handler(const LaneKey& key) {
  // Flushing subnormals is asked of exponentials alone, whose results have none worth the name.
  const bool exponential = key.op == LaneOp::ex2 || key.op == LaneOp::tanh;
  if (key.ftz && !exponential) return nullptr;
  if (key.round != Round::nearest) return nullptr;
  switch (key.type) {
    case Type::f16:
      return of_format<HalfFormat, false>(key);
    case Type::f16x2:
      return of_format<HalfFormat, true>(key);
    case Type::bf16:
      return of_format<BfloatFormat, false>(key);
    case Type::bf16x2:
      return of_format<BfloatFormat, true>(key);
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
