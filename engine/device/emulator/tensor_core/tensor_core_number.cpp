#include "engine/device/emulator/tensor_core/tensor_core_number.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace fa_tune::emulator {

namespace {

// Terms are aligned to no smaller exponent (measured on an H100 and an H200).
constexpr int kLowestExponent = -133;

Number decode(std::uint32_t bits, int exponent_bits, int fraction) {
  const std::uint32_t mantissa = bits & ((1U << fraction) - 1);
  const std::uint32_t top = (1U << exponent_bits) - 1;
  const std::uint32_t biased = (bits >> fraction) & top;
  const int bias = static_cast<int>(top >> 1);
  Number number;
  number.negative = ((bits >> (fraction + exponent_bits)) & 1U) != 0;
  number.infinite = biased == top && mantissa == 0;
  number.nan = biased == top && mantissa != 0;
  number.significand = biased == 0 ? mantissa : mantissa | (1U << fraction);
  number.exponent = std::max(static_cast<int>(biased), 1) - bias;
  number.fraction = fraction;
  return number;
}

// The largest exponent holds numbers too; only all ones is NaN, and there is no infinity.
Number decode_e4m3(std::uint32_t bits) {
  Number number = decode(bits, 4, 3);
  number.nan = (bits & 0x7FU) == 0x7FU;
  number.infinite = false;
  return number;
}

// value * 2^places without its fraction.
std::uint64_t shift_truncate(std::uint64_t value, int places) {
  if (places >= 0) return value << places;
  return places > -64 ? value >> -places : 0;
}

std::uint64_t shift_nearest_even(std::uint64_t value, int places) {
  if (places >= 0) return value << places;
  if (places <= -64) return 0;
  const std::uint64_t kept = value >> -places;
  const std::uint64_t rest = value - (kept << -places);
  const std::uint64_t half = std::uint64_t{1} << (-places - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

// Exponent of the leading bit.
int leading(const Total& total) {
  return static_cast<int>(std::bit_width(total.magnitude)) - 1 + total.unit;
}

}  // namespace

Number decode_f32(std::uint32_t bits) { return decode(bits, 8, 23); }

Number decode_f16(std::uint32_t bits) { return decode(bits, 5, 10); }

Number decode_element(Element element, std::uint32_t bits) {
  switch (element) {
    case Element::bf16:
      return decode(bits, 8, 7);
    case Element::tf32:
      return decode(bits >> 13, 8, 10);
    case Element::e4m3:
      return decode_e4m3(bits);
    case Element::e5m2:
      return decode(bits, 5, 2);
    default:
      return decode_f16(bits);
  }
}

Number multiply(const Number& a, const Number& b) {
  const bool zero = a.significand == 0 || b.significand == 0;
  Number product;
  product.negative = a.negative != b.negative;
  product.nan = a.nan || b.nan || ((a.infinite || b.infinite) && zero);
  product.infinite = !product.nan && (a.infinite || b.infinite);
  product.significand = a.significand * b.significand;
  product.exponent = a.exponent + b.exponent;
  product.fraction = a.fraction + b.fraction;
  return product;
}

Total add_terms(std::span<const Number> terms, int kept_bits) {
  Total total;
  bool plus_infinity = false;
  bool minus_infinity = false;
  int largest = kLowestExponent;
  for (const Number& term : terms) {
    total.nan |= term.nan;
    plus_infinity |= term.infinite && !term.negative;
    minus_infinity |= term.infinite && term.negative;
    if (term.significand != 0) largest = std::max(largest, term.exponent);
  }
  total.nan |= plus_infinity && minus_infinity;
  total.infinite = plus_infinity || minus_infinity;
  total.negative = minus_infinity;
  if (total.nan || total.infinite) return total;

  std::int64_t sum = 0;
  for (const Number& term : terms) {
    const auto aligned = static_cast<std::int64_t>(
        shift_truncate(term.significand,
                       std::min(kept_bits - term.fraction + term.exponent - largest, kept_bits)));
    sum += term.negative ? -aligned : aligned;
  }
  total.negative = sum < 0;
  total.magnitude = static_cast<std::uint64_t>(std::abs(sum));
  total.unit = largest - kept_bits;
  return total;
}

std::uint32_t to_f32(const Total& total, int fraction) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  if (total.nan) return 0x7FFFFFFF;
  const std::uint32_t sign = total.negative ? 0x80000000U : 0;
  if (total.infinite) return sign | kInfinity;
  if (total.magnitude == 0) return 0;
  const int exponent = leading(total);
  if (exponent > 127) return sign | kInfinity;
  // The unit of the result's last bit; adding the biased exponent of the binade below to a
  // significand that holds its leading bit gives the encoding of normal and subnormal numbers
  // alike.
  const int last = std::max(exponent - 23, -149);
  const auto significand =
      static_cast<std::uint32_t>(shift_truncate(total.magnitude, total.unit - last));
  if (significand == 0) return 0;
  const std::uint32_t kept = ~((1U << (23 - fraction)) - 1);
  return sign | ((static_cast<std::uint32_t>(last + 149) << 23) + (significand & kept));
}

std::uint32_t to_f16(const Total& total) {
  constexpr std::uint32_t kInfinity = 0x7C00;
  if (total.nan) return 0x7FFF;
  const std::uint32_t sign = total.negative ? 0x8000U : 0;
  if (total.infinite) return sign | kInfinity;
  if (total.magnitude == 0) return 0;
  const int exponent = leading(total);
  if (exponent > 15) return sign | kInfinity;
  const int last = std::max(exponent - 10, -24);
  const auto significand =
      static_cast<std::uint32_t>(shift_nearest_even(total.magnitude, total.unit - last));
  if (significand == 0) return 0;
  return sign | std::min((static_cast<std::uint32_t>(last + 24) << 10) + significand, kInfinity);
}

}  // namespace fa_tune::emulator
