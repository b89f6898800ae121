#include "engine/device/emulator/tensor_core_reference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>

namespace fa_tune::emulator {

namespace {

constexpr int kLowestExponent = -126;

// (-1)^negative * significand * 2^(exponent - fraction), or an infinity or NaN.
struct Number {
  bool negative = false;
  bool infinite = false;
  bool nan = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int fraction = 0;  // how many bits of `significand` stand after the point
};

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

Number decode_element(Element element, std::uint16_t bits) {
  return element == Element::f16 ? decode(bits, 5, 10) : decode(bits, 8, 7);
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

// The sum of a dot-add: sum * 2^unit, or an infinity or NaN.
struct Total {
  bool nan = false;
  bool infinite = false;
  bool negative = false;
  std::uint64_t magnitude = 0;
  int unit = 0;
};

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

// Exponent of the leading bit.
int leading(const Total& total) {
  return static_cast<int>(std::bit_width(total.magnitude)) - 1 + total.unit;
}

std::uint32_t to_f32(const Total& total) {
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
  return sign | ((static_cast<std::uint32_t>(last + 149) << 23) + significand);
}

std::uint16_t to_f16(const Total& total) {
  constexpr std::uint32_t kInfinity = 0x7C00;
  if (total.nan) return 0x7FFF;
  const std::uint32_t sign = total.negative ? 0x8000U : 0;
  if (total.infinite) return static_cast<std::uint16_t>(sign | kInfinity);
  if (total.magnitude == 0) return 0;
  const int exponent = leading(total);
  std::uint32_t bits = kInfinity;
  if (exponent <= 15) {
    const int last = std::max(exponent - 10, -24);
    const auto significand =
        static_cast<std::uint32_t>(shift_nearest_even(total.magnitude, total.unit - last));
    bits = std::min((static_cast<std::uint32_t>(last + 24) << 10) + significand, kInfinity);
  }
  return static_cast<std::uint16_t>(sign | bits);
}

Total dot_add(Element element, TensorRule rule, std::span<const std::uint16_t> a,
              std::span<const std::uint16_t> b, const Number& c) {
  std::array<Number, 33> terms;
  for (std::size_t i = 0; i < a.size(); ++i) {
    terms[i] = multiply(decode_element(element, a[i]), decode_element(element, b[i]));
  }
  terms[a.size()] = c;
  return add_terms(std::span(terms).first(a.size() + 1), fraction_bits(rule));
}

std::uint16_t half_of(std::uint32_t word, int index) {
  return static_cast<std::uint16_t>(word >> (16 * (index & 1)));
}

// Fragment layouts, PTX ISA, "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k8": with group =
// lane / 4 and t = lane % 4, lane holds of A rows group and group + 8, of B column group, of C and
// D rows group and group + 8; elements of k, or columns of C and D, 2t and 2t + 1 (+ 8).
std::uint16_t element_a(const ConstLanes* a, int row, int k) {
  return half_of(a[(row / 8) + 2 * (k / 8)][(row % 8) * 4 + (k % 8) / 2], k);
}

std::uint16_t element_b(const ConstLanes* b, int k, int column) {
  return half_of(b[k / 8][column * 4 + (k % 8) / 2], k);
}

std::uint32_t element_c(const MmaKind& kind, const ConstLanes* c, int row, int column) {
  const int lane = (row % 8) * 4 + column / 2;
  if (kind.accumulator == Accumulator::f16) return half_of(c[row / 8][lane], column);
  return c[2 * (row / 8) + column % 2][lane];
}

}  // namespace

int fraction_bits(TensorRule rule) { return rule == TensorRule::hopper ? 25 : 24; }

int products_at_once(const MmaKind& kind) {
  return kind.rule == TensorRule::hopper ? kind.k : std::min(kind.k, 8);
}

std::uint32_t dot_add_f32(Element element, TensorRule rule, std::span<const std::uint16_t> a,
                          std::span<const std::uint16_t> b, std::uint32_t c) {
  return to_f32(dot_add(element, rule, a, b, decode(c, 8, 23)));
}

std::uint16_t dot_add_f16(Element element, TensorRule rule, std::span<const std::uint16_t> a,
                          std::span<const std::uint16_t> b, std::uint16_t c) {
  return to_f16(dot_add(element, rule, a, b, decode(c, 5, 10)));
}

void mma_reference_row(const MmaKind& kind, const Fragments& fragments, int row,
                       std::span<std::uint32_t, 8> outputs) {
  const int step = products_at_once(kind);
  const auto count = static_cast<std::size_t>(step);
  std::array<std::uint16_t, 16> a{};
  std::array<std::uint16_t, 16> b{};
  for (int column = 0; column < 8; ++column) {
    std::uint32_t sum = element_c(kind, fragments.c, row, column);
    for (int from = 0; from < kind.k; from += step) {
      for (int k = 0; k < step; ++k) {
        a[k] = element_a(fragments.a, row, from + k);
        b[k] = element_b(fragments.b, from + k, column);
      }
      const auto left = std::span<const std::uint16_t>(a).first(count);
      const auto right = std::span<const std::uint16_t>(b).first(count);
      sum = kind.accumulator == Accumulator::f32
                ? dot_add_f32(kind.element, kind.rule, left, right, sum)
                : dot_add_f16(kind.element, kind.rule, left, right, half_of(sum, 0));
    }
    outputs[static_cast<std::size_t>(column)] = sum;
  }
}

void mma_reference(const MmaKind& kind, const Fragments& fragments) {
  std::array<std::array<std::uint32_t, 8>, 16> results{};
  for (int row = 0; row < 16; ++row) mma_reference_row(kind, fragments, row, results[row]);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; column += 2) {
      const int lane = (row % 8) * 4 + column / 2;
      const std::uint32_t even = results[row][column];
      const std::uint32_t odd = results[row][column + 1];
      if (kind.accumulator == Accumulator::f16) {
        fragments.d[row / 8][lane] = even | (odd << 16);
      } else {
        fragments.d[2 * (row / 8)][lane] = even;
        fragments.d[2 * (row / 8) + 1][lane] = odd;
      }
    }
  }
}

}  // namespace fa_tune::emulator
