#include <array>
#include <bit>
#include <cstdint>

#include "engine/device/emulator/tensor_core/tensor_core_number.hpp"
#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"

namespace fa_tune::emulator {

namespace {

using Register = std::array<std::uint32_t, 32>;

// f16 of every fp8: exact but for NaN, which becomes 0x7FFF.
std::array<std::uint16_t, 256> f16_table(Element element) {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const Number number = decode_element(element, bits);
    Total total;
    total.nan = number.nan;
    total.infinite = number.infinite;
    total.negative = number.negative;
    total.magnitude = number.significand;
    total.unit = number.exponent - number.fraction;
    const std::uint32_t sign = number.negative && !number.nan ? 0x8000U : 0;
    table[bits] = static_cast<std::uint16_t>(to_f16(total) | sign);
  }
  return table;
}

void unpack(Element element, ConstLanes from, int half, Register& to) {
  static const std::array<std::uint16_t, 256> tables[2] = {f16_table(Element::e4m3),
                                                           f16_table(Element::e5m2)};
  const auto& table = tables[element == Element::e4m3 ? 0 : 1];
  for (std::size_t lane = 0; lane < to.size(); ++lane) {
    const std::uint32_t pair = from[lane] >> (16 * half);
    to[lane] = table[pair & 0xFFU] | std::uint32_t{table[pair >> 8 & 0xFFU]} << 16;
  }
}

std::uint32_t add_f32(std::uint32_t a, std::uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum != sum ? 0x7FFFFFFFU : std::bit_cast<std::uint32_t>(sum);
}

// The exact sum of two f16 needs 41 bits and rounds once. Two negative zeros make one.
std::uint32_t add_f16(std::uint32_t a, std::uint32_t b) {
  if ((a & 0xFFFFU) == 0x8000U && (b & 0xFFFFU) == 0x8000U) return 0x8000U;
  const std::array<Number, 2> terms = {decode_f16(a & 0xFFFFU), decode_f16(b & 0xFFFFU)};
  return to_f16(add_terms(terms, 50));
}

}  // namespace

void mma_as_two_of_f16(const MmaKind& kind, const Fragments& fragments, MmaFunction f16) {
  const std::size_t columns = static_cast<std::size_t>(kind.k) / 16;  // 128 bits each
  const std::size_t sums = kind.accumulator == Accumulator::f32 ? 4 : 2;
  const MmaKind part{Element::f16, Element::f16, kind.accumulator, kind.k / 2, kind.rule, false};
  std::array<Register, 4> a;
  std::array<Register, 2> b;
  std::array<Register, 4> sum{};
  std::array<ConstLanes, 4> a_lanes{};
  std::array<ConstLanes, 2> b_lanes{};
  std::array<ConstLanes, 4> c_lanes{};
  std::array<Lanes, 4> d_lanes{};
  for (std::size_t i = 0; i < 4; ++i) {
    a_lanes[i] = a[i].data();
    c_lanes[i] = sum[i].data();
    d_lanes[i] = sum[i].data();
  }
  for (std::size_t i = 0; i < 2; ++i) b_lanes[i] = b[i].data();
  for (int half = 0; half < 2; ++half) {
    for (std::size_t i = 0; i < 2 * columns; ++i) unpack(kind.a, fragments.a[i], half, a[i]);
    for (std::size_t i = 0; i < columns; ++i) unpack(kind.b, fragments.b[i], half, b[i]);
    f16(part, {d_lanes.data(), a_lanes.data(), b_lanes.data(), c_lanes.data()});
  }
  // c first, whole: d may be c's registers in another order.
  for (std::size_t i = 0; i < sums; ++i) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      std::uint32_t& word = sum[i][lane];
      const std::uint32_t c = fragments.c[i][lane];
      word = kind.accumulator == Accumulator::f32
                 ? add_f32(word, c)
                 : add_f16(word, c) | add_f16(word >> 16, c >> 16) << 16;
    }
  }
  for (std::size_t i = 0; i < sums; ++i) {
    for (std::size_t lane = 0; lane < 32; ++lane) fragments.d[i][lane] = sum[i][lane];
  }
}

}  // namespace fa_tune::emulator
