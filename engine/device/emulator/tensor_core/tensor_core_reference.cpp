#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/device/emulator/tensor_core/tensor_core_number.hpp"

namespace fa_tune::emulator {

namespace {

constexpr std::size_t kMostTerms = 33;

bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

Total dot_add(const MmaKind& kind, std::span<const std::uint32_t> a,
              std::span<const std::uint32_t> b, const Number& c) {
  std::array<Number, kMostTerms> terms;
  for (std::size_t i = 0; i < a.size(); ++i) {
    terms[i] = multiply(decode_element(kind.a, a[i]), decode_element(kind.b, b[i]));
  }
  terms[a.size()] = c;
  return add_terms(std::span(terms).first(a.size() + 1), dot_rule(kind).fraction_bits);
}

std::int64_t integer(Element element, std::uint32_t bits) {
  if (element == Element::u8) return static_cast<std::uint8_t>(bits);
  return static_cast<std::int8_t>(bits);
}

// Fragment layouts, PTX ISA, "Matrix Fragments for mma.m16n8k16" and its likes: with group =
// lane / 4 and t = lane % 4, lane holds of A rows group and group + 8, of B column group, and of
// these the bytes 4t to 4t + 3 of each 16; of C and D rows group and group + 8, columns 2t and
// 2t + 1.
std::uint32_t element_at(Element element, ConstLanes lanes, int line, int k) {
  const int bits = bits_of(element);
  const int from = k * bits % 128;
  const std::uint32_t word = lanes[line * 4 + from / 32] >> (from % 32);
  return bits == 32 ? word : word & ((1U << bits) - 1);
}

std::uint32_t element_a(const MmaKind& kind, const ConstLanes* a, int row, int k) {
  return element_at(kind.a, a[row / 8 + 2 * (k * bits_of(kind.a) / 128)], row % 8, k);
}

std::uint32_t element_b(const MmaKind& kind, const ConstLanes* b, int k, int column) {
  return element_at(kind.b, b[k * bits_of(kind.b) / 128], column, k);
}

std::uint32_t element_c(const MmaKind& kind, const ConstLanes* c, int row, int column) {
  const int lane = (row % 8) * 4 + column / 2;
  if (kind.accumulator == Accumulator::f16) {
    return (c[row / 8][lane] >> (16 * (column % 2))) & 0xFFFFU;
  }
  return c[2 * (row / 8) + column % 2][lane];
}

}  // namespace

bool is_two_of_f16(const MmaKind& kind) {
  return is_fp8(kind.a) && kind.rule == TensorRule::hopper;
}

DotRule dot_rule(const MmaKind& kind) {
  const bool hopper = kind.rule == TensorRule::hopper || kind.rule == TensorRule::hopper_wgmma;
  DotRule rule;
  rule.fraction_bits = is_fp8(kind.a) ? 13 : hopper ? 25 : 24;
  rule.result_fraction = is_fp8(kind.a) ? 13 : 23;
  // Before Hopper the adder takes 128 bits of k.
  rule.at_once = hopper ? kind.k : std::min(kind.k, 128 / bits_of(kind.a));
  return rule;
}

std::uint32_t dot_add_f32(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c) {
  return to_f32(dot_add(kind, a, b, decode_f32(c)), dot_rule(kind).result_fraction);
}

std::uint32_t dot_add_f16(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c) {
  return to_f16(dot_add(kind, a, b, decode_f16(c)));
}

std::uint32_t dot_add_s32(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c) {
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (std::size_t i = 0; i < a.size(); ++i) sum += integer(kind.a, a[i]) * integer(kind.b, b[i]);
  if (kind.saturate) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<std::uint32_t>(sum);
}

void mma_reference_row(const MmaKind& kind, const Fragments& fragments, int row,
                       std::span<std::uint32_t, 8> outputs) {
  const int step = kind.accumulator == Accumulator::s32 ? kind.k : dot_rule(kind).at_once;
  std::array<std::uint32_t, kMostTerms> a{};
  std::array<std::uint32_t, kMostTerms> b{};
  const auto left = std::span<const std::uint32_t>(a).first(static_cast<std::size_t>(step));
  const auto right = std::span<const std::uint32_t>(b).first(static_cast<std::size_t>(step));
  for (int column = 0; column < 8; ++column) {
    std::uint32_t sum = element_c(kind, fragments.c, row, column);
    for (int from = 0; from < kind.k; from += step) {
      for (int k = 0; k < step; ++k) {
        a[k] = element_a(kind, fragments.a, row, from + k);
        b[k] = element_b(kind, fragments.b, from + k, column);
      }
      switch (kind.accumulator) {
        case Accumulator::f32:
          sum = dot_add_f32(kind, left, right, sum);
          break;
        case Accumulator::f16:
          sum = dot_add_f16(kind, left, right, sum);
          break;
        case Accumulator::s32:
          sum = dot_add_s32(kind, left, right, sum);
          break;
      }
    }
    outputs[static_cast<std::size_t>(column)] = sum;
  }
}

void mma_reference(const MmaKind& kind, const Fragments& fragments) {
  if (is_two_of_f16(kind)) {
    mma_as_two_of_f16(kind, fragments, mma_reference);
    return;
  }
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
