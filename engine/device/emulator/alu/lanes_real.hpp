#pragma once

#include <cstdint>

#include "engine/device/emulator/alu/lanes_map.hpp"

// Arithmetic on reals as the GPU does it, without branches where loops of it should become vector
// code. Results that are NaN are the one NaN the GPU gives: 0x7fffffff, 0x7fff.

namespace fa_tune::emulator::FA_LANES {

#define FA_INLINE [[gnu::always_inline]] inline

FA_INLINE std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
FA_INLINE std::uint64_t bits_of(double value) { return __builtin_bit_cast(std::uint64_t, value); }
FA_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
FA_INLINE double double_of(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }

FA_INLINE float canonical(float value) { return value == value ? value : float_of(0x7fffffffU); }
FA_INLINE double canonical(double value) {
  return value == value ? value : double_of(0xfff8000000000000U);
}

// Subnormals to zero of the same sign.
FA_INLINE float flush(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits & 0x7f800000U) == 0 ? float_of(bits & 0x80000000U) : value;
}

template <bool Ftz>
FA_INLINE float maybe_flush(float value) {
  if constexpr (Ftz) return flush(value);
  return value;
}

// .sat: to [0, 1], NaN to +0.
FA_INLINE float saturate(float value) {
  const float low = value > 0.0F ? value : 0.0F;
  return low < 1.0F ? low : 1.0F;
}

// binary16. From 65520 up everything is infinity; below 2^-14 the grid is 2^-24 wide, the width of
// a float's unit in [0.5, 1).
// Bits of 16 are kept in words of 32, as registers keep them: loops stay of one width.
FA_INLINE std::uint32_t half_from(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  const std::uint32_t small = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t result = magnitude < 0x38800000U ? small : normal;
  result = magnitude >= 0x477ff000U ? 0x7c00U : result;
  result |= sign;
  result = magnitude > 0x7f800000U ? 0x7fffU : result;
  return result;
}

FA_INLINE float half_to(std::uint32_t half) {
  const std::uint32_t magnitude = half & 0x7fffU;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  // A subnormal is a count of 2^-24; no subnormal float appears on the way, which would be slow.
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  std::uint32_t bits = (magnitude << 13) + 0x38000000U;
  bits = magnitude < 0x400U ? bits_of(small) : bits;
  bits = magnitude >= 0x7c00U ? 0x7f800000U : bits;
  bits |= sign;
  bits = magnitude > 0x7c00U ? 0x7fffffffU : bits;
  return float_of(bits);
}

FA_INLINE std::uint32_t bfloat_from(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  return (bits & 0x7fffffffU) > 0x7f800000U ? 0x7fffU : rounded;
}
FA_INLINE float bfloat_to(std::uint32_t bits) { return canonical(float_of(bits << 16)); }

// The sum of a and b rounded to odd: truncated, with the last bit set if anything was lost.
// Rounding that again to a format with at least two bits fewer gives the correctly rounded sum
// (Boldo and Melquiond 2008). The error comes from Knuth's TwoSum.
// `error` is what `value` lacks; 0, an infinity or a NaN change nothing. In integers, because
// comparisons of comparisons do not become vector code.
FA_INLINE float odd_by(float value, float error) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t inexact = (bits_of(error) & 0x7fffffffU) - 1U < 0x7f7fffffU ? 1U : 0U;
  const std::uint32_t inward = (bits ^ bits_of(error)) >> 31;
  const std::uint32_t step = 1U - 2U * inward;
  return float_of(bits + step * (inexact & ~bits & 1U));
}
FA_INLINE double odd_by(double value, double error) {
  const std::uint64_t bits = bits_of(value);
  const bool inexact = (error > 0.0) | (error < 0.0);
  const std::uint64_t inward = (bits ^ bits_of(error)) >> 63;
  const std::uint64_t odd = bits + 1U - 2U * inward;
  return (inexact & ((bits & 1U) == 0)) ? double_of(odd) : value;
}
template <class T>
FA_INLINE T add_odd(T a, T b) {
  const T sum = a + b;
  const T part = sum - a;
  return odd_by(sum, (a - (sum - part)) + (b - part));
}
// Quotients and roots likewise, from the sign of the remainder.
FA_INLINE double div_odd(double a, double b) {
  const double quotient = a / b;
  const double remainder = __builtin_fma(-quotient, b, a);
  return odd_by(quotient, b > 0.0 ? remainder : -remainder);
}
FA_INLINE double sqrt_odd(double a) {
  const double root = __builtin_sqrt(a);
  return odd_by(root, __builtin_fma(-root, root, a));
}

// A double, exact or rounded to odd, to a float in a named direction.
FA_INLINE float round_to_float(double value, Round round) {
  const auto nearest = static_cast<float>(value);
  const std::uint32_t bits = bits_of(nearest);
  const auto back = static_cast<double>(nearest);
  const bool inexact = back < value || back > value;  // not so for a NaN
  if (!inexact) return nearest;
  const bool too_high = back > value;
  bool move = false;
  if (round == Round::zero) move = (value > 0.0) == too_high;
  if (round == Round::down) move = too_high;
  if (round == Round::up) move = !too_high;
  if (!move) return nearest;
  if ((bits & 0x7fffffffU) == 0) return float_of(too_high ? 0x80000001U : 1U);
  // Toward the value: down in magnitude when it is nearer to zero than `nearest`.
  const bool inward = too_high == (nearest > 0.0F);
  return float_of(inward ? bits - 1 : bits + 1);
}

// The lesser of two, -0 below +0; a NaN loses to a number.
template <class T>
FA_INLINE T least(T a, T b) {
  const T smaller = a < b ? a : b;
  if constexpr (sizeof(T) == 4) {
    const T ordered = a == b ? float_of(bits_of(a) | bits_of(b)) : smaller;  // -0 below +0
    const T either = a != a ? b : ordered;
    return canonical(b != b ? a : either);
  } else {
    const T ordered = a == b ? double_of(bits_of(a) | bits_of(b)) : smaller;
    const T either = a != a ? b : ordered;
    return canonical(b != b ? a : either);
  }
}
template <class T>
FA_INLINE T greatest(T a, T b) {
  return -least(-a, -b);
}
}  // namespace fa_tune::emulator::FA_LANES
