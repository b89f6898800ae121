#include "engine/device/emulator/alu/lanes_real.hpp"

// cvt to and from pairs of 8-bit reals (PTX ISA, cvt and alternate floating-point formats). e4m3
// has no infinity and one NaN, 0x7f; e5m2 is the upper byte of an f16. To them every conversion is
// .satfinite: what is too large, infinities too, becomes the largest number of its sign; NaN
// becomes 0x7f.

namespace fa_tune::emulator::FA_LANES {
namespace {

struct E4m3Format {
  static constexpr int kFraction = 3;
  static constexpr int kLeast = -6;      // exponent of the smallest normal number
  static constexpr u32 kLargest = 0x7e;  // 448
};
struct E5m2Format {
  static constexpr int kFraction = 2;
  static constexpr int kLeast = -14;
  static constexpr u32 kLargest = 0x7b;  // 57344
};

// To nearest even; relu: below zero and -0 to +0.
template <class Format, bool Relu>
FA_INLINE u32 byte_from(float value) {
  const u32 bits = bits_of(value);
  const u32 magnitude = bits & 0x7fffffffU;
  const u32 sign = bits >> 24 & 0x80U;
  if (magnitude > 0x7f800000U) return 0x7fU;
  if (Relu && sign != 0) return 0;
  constexpr u32 shift = 23 - Format::kFraction;
  constexpr u32 bias = static_cast<u32>(127 + Format::kLeast - 1) << 23;
  u32 result = 0;
  if (magnitude < static_cast<u32>(127 + Format::kLeast) << 23) {
    // The grid is as wide as a float's unit at 2^(23 + least - fraction): adding that rounds.
    const float anchor =
        float_of(static_cast<u32>(127 + 23 + Format::kLeast - Format::kFraction) << 23);
    result = bits_of(float_of(magnitude) + anchor) - bits_of(anchor);
  } else {
    const u32 moved = magnitude - bias;
    result = (moved + (1U << (shift - 1)) - 1 + (moved >> shift & 1U)) >> shift;
    if (magnitude >= 0x7f800000U || result > Format::kLargest) result = Format::kLargest;
  }
  return result | sign;
}

// As an f16.
template <class Format>
FA_INLINE u32 half_of(u32 byte) {
  if constexpr (Format::kFraction == 2) {
    const u32 half = byte << 8 & 0xff00U;
    return (half & 0x7fffU) > 0x7c00U ? 0x7fffU : half;
  } else {
    if ((byte & 0x7fU) == 0x7fU) return 0x7fffU;
    const u32 magnitude = byte & 0x7fU;
    const float value = magnitude < 8 ? static_cast<float>(static_cast<s32>(magnitude)) * 0x1p-9F
                                      : float_of((magnitude << 20) + (120U << 23));
    return half_from(value) | (byte << 8 & 0x8000U);
  }
}
template <bool Relu>
FA_INLINE u32 positive(u32 half) {
  return Relu && (half & 0x8000U) != 0 && (half & 0x7fffU) <= 0x7c00U ? 0U : half;
}

template <class Format, bool Relu>
Handler to_halves() {
  return one<u32, u32>([](u32 a) {
    return positive<Relu>(half_of<Format>(a & 0xffU)) |
           positive<Relu>(half_of<Format>(a >> 8 & 0xffU)) << 16;
  });
}
template <class Format, bool Relu>
Handler from_halves() {
  return one<u32, u32>([](u32 a) {
    return byte_from<Format, Relu>(half_to(a & 0xffffU)) | byte_from<Format, Relu>(half_to(a >> 16))
                                                               << 8;
  });
}
template <class Format, bool Relu>
Handler from_floats() {
  return two<u32, float, float>([](float a, float b) {
    return byte_from<Format, Relu>(a) << 8 | byte_from<Format, Relu>(b);
  });
}

template <class Format, bool Relu>
Handler of_fp8(const LaneKey& key) {
  if (key.op == LaneOp::convert_fp8_pair) return from_floats<Format, Relu>();
  return key.from == Type::f16x2 ? from_halves<Format, Relu>() : to_halves<Format, Relu>();
}

}  // namespace

Handler fp8_handler(const LaneKey& key) {
  const bool e4m3 = key.type == Type::e4m3x2 || key.from == Type::e4m3x2;
  if (key.relu) return e4m3 ? of_fp8<E4m3Format, true>(key) : of_fp8<E5m2Format, true>(key);
  return e4m3 ? of_fp8<E4m3Format, false>(key) : of_fp8<E5m2Format, false>(key);
}

}  // namespace fa_tune::emulator::FA_LANES
