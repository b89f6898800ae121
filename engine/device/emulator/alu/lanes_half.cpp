#include "engine/device/emulator/alu/lanes_real.hpp"

// f16 and bf16 arithmetic, alone and in pairs. A sum or a product of two is computed in f32 and
// rounded again, which is exact because f32 has more than twice their bits and two; a fused product
// and sum goes through rounding to odd.

namespace fa_tune::emulator::FA_LANES {
namespace {

struct HalfFormat {
  static constexpr u32 kNan = 0x7fff;
  static constexpr u32 kOne = 0x3c00;
  FA_INLINE static float to(u32 bits) { return half_to(bits); }
  FA_INLINE static u32 from(float value) { return half_from(value); }
  FA_INLINE static u32 fma(u32 a, u32 b, u32 c) {
    return half_from(add_odd(half_to(a) * half_to(b), half_to(c)));
  }
  FA_INLINE static u32 given(u32 bits) { return bits; }
};

// With subnormal operands and results as zeros of their sign (.ftz).
struct FlushedHalf {
  static constexpr u32 kNan = HalfFormat::kNan;
  static constexpr u32 kOne = HalfFormat::kOne;
  FA_INLINE static u32 given(u32 bits) { return (bits & 0x7c00U) == 0 ? bits & 0x8000U : bits; }
  FA_INLINE static float to(u32 bits) { return half_to(given(bits)); }
  FA_INLINE static u32 from(float value) { return given(half_from(value)); }
  FA_INLINE static u32 fma(u32 a, u32 b, u32 c) {
    return given(HalfFormat::fma(given(a), given(b), given(c)));
  }
};

struct BfloatFormat {
  static constexpr u32 kNan = 0x7fff;
  static constexpr u32 kOne = 0x3f80;
  FA_INLINE static float to(u32 bits) { return bfloat_to(bits); }
  FA_INLINE static u32 from(float value) { return bfloat_from(value); }
  // f32 has the exponent range of bf16, so the product needs a double.
  FA_INLINE static u32 fma(u32 a, u32 b, u32 c) {
    const double product = static_cast<double>(to(a)) * static_cast<double>(to(b));
    const double sum = add_odd(product, static_cast<double>(to(c)));
    const auto nearest = static_cast<float>(sum);
    // Of what was lost only the sign counts; as a float it could vanish.
    const auto back = static_cast<double>(nearest);
    const float error = sum > back ? 1.0F : sum < back ? -1.0F : 0.0F;
    return from(nearest == 0.0F ? nearest : odd_by(nearest, error));
  }
  FA_INLINE static u32 given(u32 bits) { return bits; }
};

// ex2 of bf16 exists with .ftz alone.
struct FlushedBfloat : BfloatFormat {
  FA_INLINE static u32 given(u32 bits) { return (bits & 0x7f80U) == 0 ? bits & 0x8000U : bits; }
  FA_INLINE static float to(u32 bits) { return bfloat_to(given(bits)); }
  FA_INLINE static u32 from(float value) { return given(bfloat_from(value)); }
};

template <class Format>
FA_INLINE u32 relu(u32 bits) {
  const bool is_nan = (bits & 0x7fffU) > (Format::kOne == 0x3c00 ? 0x7c00U : 0x7f80U);
  const u32 positive = (bits & 0x8000U) != 0 ? 0U : bits;
  return is_nan ? Format::kNan : positive;
}
template <class Format>
FA_INLINE u32 clamp(u32 bits) {
  return Format::from(saturate(Format::to(bits)));
}
// 0: as it is, 1: relu, 2: sat.
template <class Format, int Finish>
FA_INLINE u32 finish(u32 bits) {
  if constexpr (Finish == 1) return relu<Format>(bits);
  if constexpr (Finish == 2) return clamp<Format>(bits);
  return bits;
}

template <class Format, bool Max, bool Nan>
FA_INLINE u32 extreme(u32 first_bits, u32 second_bits) {
  const u32 a = Format::given(first_bits);
  const u32 b = Format::given(second_bits);
  const float x = Format::to(a);
  const float y = Format::to(b);
  // As integers in order of value, so that -0 is below +0.
  const auto order = [](u32 bits) {
    return (bits & 0x8000U) != 0 ? 0x7fffU - (bits & 0x7fffU) : 0x8000U + bits;
  };
  const bool first = Max ? order(a) > order(b) : order(a) < order(b);
  u32 result = first ? a : b;
  result = x != x ? b : result;
  result = y != y ? a : result;
  if (Nan) return ((x != x) | (y != y)) ? Format::kNan : result;
  return ((x != x) & (y != y)) ? Format::kNan : result;
}

// Of the magnitudes, with the sign of the product (.xorsign.abs).
template <class Format, bool Max, bool Nan>
FA_INLINE u32 extreme_magnitude(u32 a, u32 b) {
  const u32 result = extreme<Format, Max, Nan>(a & 0x7fffU, b & 0x7fffU);
  return result == Format::kNan ? result : result | ((a ^ b) & 0x8000U);
}

// The same function on a value alone or on each of a pair.
template <bool Pair, class F>
Handler half_one(F) {
  if constexpr (Pair) {
    return one<u32, u32>([](u32 a) {
      const u32 low = F{}(a & 0xffffU);
      const u32 high = F{}(a >> 16);
      return low | high << 16;
    });
  } else {
    return one<u32, u32>(F{});
  }
}
template <bool Pair, class F>
Handler half_two(F) {
  if constexpr (Pair) {
    return two<u32, u32, u32>([](u32 a, u32 b) {
      const u32 low = F{}((a & 0xffffU), (b & 0xffffU));
      const u32 high = F{}((a >> 16), (b >> 16));
      return low | high << 16;
    });
  } else {
    return two<u32, u32, u32>(F{});
  }
}
template <bool Pair, class F>
Handler half_three(F) {
  if constexpr (Pair) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
      const u32 low = F{}((a & 0xffffU), (b & 0xffffU), (c & 0xffffU));
      const u32 high = F{}((a >> 16), (b >> 16), (c >> 16));
      return low | high << 16;
    });
  } else {
    return three<u32, u32, u32, u32>(F{});
  }
}

template <class Format, bool Pair, int Finish>
Handler sums(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return half_two<Pair>([](u32 a, u32 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) + Format::to(b)));
      });
    case LaneOp::sub:
      return half_two<Pair>([](u32 a, u32 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) - Format::to(b)));
      });
    case LaneOp::mul:
      return half_two<Pair>([](u32 a, u32 b) {
        return finish<Format, Finish>(Format::from(Format::to(a) * Format::to(b)));
      });
    case LaneOp::fma:
      return half_three<Pair>(
          [](u32 a, u32 b, u32 c) { return finish<Format, Finish>(Format::fma(a, b, c)); });
    default:
      return nullptr;
  }
}

template <class Format, bool Pair, bool Max>
Handler extremes_of(const LaneKey& key) {
  if (key.xorsign) {
    return key.nan ? half_two<Pair>(
                         [](u32 a, u32 b) { return extreme_magnitude<Format, Max, true>(a, b); })
                   : half_two<Pair>(
                         [](u32 a, u32 b) { return extreme_magnitude<Format, Max, false>(a, b); });
  }
  return key.nan ? half_two<Pair>([](u32 a, u32 b) { return extreme<Format, Max, true>(a, b); })
                 : half_two<Pair>([](u32 a, u32 b) { return extreme<Format, Max, false>(a, b); });
}

template <class Format, bool Pair>
Handler extremes(const LaneKey& key) {
  return key.op == LaneOp::min ? extremes_of<Format, Pair, false>(key)
                               : extremes_of<Format, Pair, true>(key);
}

template <class Format, bool Pair>
Handler of_format(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::min:
    case LaneOp::max:
      return extremes<Format, Pair>(key);
    case LaneOp::abs:
      return half_one<Pair>([](u32 a) { return Format::given(a) & 0x7fffU; });
    case LaneOp::neg:
      return half_one<Pair>([](u32 a) { return Format::given(a) ^ 0x8000U; });
    case LaneOp::ex2:
      return half_one<Pair>([](u32 a) {
        return Format::from(static_cast<float>(__builtin_exp2(static_cast<double>(Format::to(a)))));
      });
    case LaneOp::tanh:
      return half_one<Pair>([](u32 a) {
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
  if (key.round != Round::nearest) return nullptr;
  const bool flushing = key.ftz;
  switch (key.type) {
    case Type::f16:
      return flushing ? of_format<FlushedHalf, false>(key) : of_format<HalfFormat, false>(key);
    case Type::f16x2:
      return flushing ? of_format<FlushedHalf, true>(key) : of_format<HalfFormat, true>(key);
    case Type::bf16:
      if (key.sat) return nullptr;
      if (key.op == LaneOp::ex2) return of_format<FlushedBfloat, false>(key);
      return flushing ? nullptr : of_format<BfloatFormat, false>(key);
    case Type::bf16x2:
      if (key.sat) return nullptr;
      if (key.op == LaneOp::ex2) return of_format<FlushedBfloat, true>(key);
      return flushing ? nullptr : of_format<BfloatFormat, true>(key);
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
