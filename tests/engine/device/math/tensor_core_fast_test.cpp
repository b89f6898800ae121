// The fast path against the plain one, bit for bit, on random operands.

#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/tensor_core/tensor_core_avx2.hpp"
#include "engine/util/random.hpp"
#include "tests/helpers.hpp"
#include "warp.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr auto kAmpere = TensorRule::ampere;
constexpr auto kAda = TensorRule::ada;
constexpr auto kHopper = TensorRule::hopper;
constexpr auto kWgmma = TensorRule::hopper_wgmma;

// Where the exponents of random operands lie.
enum class Range { all_finite, near, infinite_sums, with_zeros, tiny, huge, anything };

// Half of them infinite, as the sums of keys that a row must not see are.
std::uint32_t random_sum(Random& random, std::uint32_t sum, std::uint32_t infinity) {
  if (random.below(2) == 0) return sum;
  const std::uint32_t sign = (infinity << 1) & ~infinity;
  return infinity | (static_cast<std::uint32_t>(random.next()) & sign);
}

struct Format {
  int exponent_bits;
  int fraction;
  int unused = 0;  // bits below the fraction
};

Format format_of(Element element) {
  switch (element) {
    case Element::bf16:
      return {8, 7};
    case Element::tf32:
      return {8, 10, 13};
    case Element::e4m3:
      return {4, 3};
    case Element::e5m2:
      return {5, 2};
    default:
      return {5, 10};
  }
}

std::uint32_t random_element(Random& random, Element element, Range range) {
  const auto [exponent_bits, fraction, unused] = format_of(element);
  auto x = static_cast<std::uint32_t>(random.next());
  if (bits_of(element) == 8 && (element == Element::s8 || element == Element::u8)) {
    return range == Range::huge ? 0x7F | (x & 0x80) : x & 0xFF;
  }
  const std::uint64_t top = (1U << exponent_bits) - 1;
  const bool wide = exponent_bits == 8;
  const std::uint64_t pick = random.below(100);
  std::uint64_t exponent = random.below(top);
  if (range == Range::near || range == Range::infinite_sums)
    exponent = top / 2 - 3 + random.below(6);
  if (range == Range::tiny) exponent = wide ? 62 + random.below(30) : 0;
  if (range == Range::huge && wide) exponent = 170 + random.below(12);
  if (range == Range::with_zeros && pick < 30) exponent = 0;
  if (range == Range::with_zeros && pick < 20) x = x & 0x80000000U;
  if (range == Range::anything && pick < 1) exponent = top;
  if (range == Range::anything && pick < 2 && !wide) x |= 0x00FFFFFFU;  // NaN of e4m3 too
  const std::uint32_t mantissa = x & ((1U << (fraction + unused)) - 1);
  const std::uint32_t sign = x >> 31 << (exponent_bits + fraction + unused);
  return sign | static_cast<std::uint32_t>(exponent << (fraction + unused)) | mantissa;
}

std::uint32_t random_f32(Random& random, Element element, Range range) {
  auto x = static_cast<std::uint32_t>(random.next());
  std::uint64_t exponent = random.below(255);
  const bool wide = format_of(element).exponent_bits == 8;
  if (range == Range::near || range == Range::infinite_sums) exponent = 120 + random.below(12);
  if (range == Range::all_finite && !wide) exponent = 80 + random.below(80);
  if (range == Range::tiny) exponent = random.below(60);
  if (range == Range::huge) exponent = 220 + random.below(20);
  if (range == Range::with_zeros && random.below(2) == 0) exponent = 0;
  if (range == Range::with_zeros && random.below(4) == 0) x &= 0x80000000U;
  if (range == Range::anything && random.below(30) == 0) exponent = 255;
  if (range == Range::anything && random.below(2) == 0) x &= 0xFF800000U;
  return (x & 0x807FFFFFU) | static_cast<std::uint32_t>(exponent << 23);
}

// A register full of elements.
std::uint32_t random_word(Random& random, Element element, Range range) {
  std::uint32_t word = 0;
  for (int from = 0; from < 32; from += bits_of(element)) {
    word |= random_element(random, element, range) << from;
  }
  return word;
}

void fill(Random& random, const MmaKind& kind, Range range, Warp& warp) {
  for (auto& r : warp.a) {
    for (auto& x : r) x = random_word(random, kind.a, range);
  }
  for (auto& r : warp.b) {
    for (auto& x : r) x = random_word(random, kind.b, range);
  }
  for (auto& r : warp.c) {
    for (auto& x : r) {
      if (kind.accumulator == Accumulator::f16) {
        x = random_word(random, Element::f16, range);
        if (range == Range::infinite_sums)
          x = random_sum(random, x & 0xFFFFU, 0x7C00U) |
              (random_sum(random, x >> 16, 0x7C00U) << 16);
      } else if (kind.accumulator == Accumulator::s32) {
        x = static_cast<std::uint32_t>(random.next());
        if (range == Range::huge) x = 0x7FFFFFFFU - (x & 0xFFFFU) + (x & 0x1FFFU);
      } else {
        x = random_f32(random, kind.a, range);
        if (range == Range::infinite_sums) x = random_sum(random, x, 0x7F800000U);
      }
    }
  }
}

std::vector<MmaKind> kinds() {
  constexpr auto f32 = Accumulator::f32;
  constexpr auto f16 = Accumulator::f16;
  std::vector<MmaKind> all;
  for (const TensorRule rule : {kAmpere, kHopper}) {
    for (const int k : {8, 16}) {
      all.push_back({Element::f16, Element::f16, f32, k, rule, false});
      all.push_back({Element::f16, Element::f16, f16, k, rule, false});
      all.push_back({Element::bf16, Element::bf16, f32, k, rule, false});
      all.push_back({Element::tf32, Element::tf32, f32, k / 2, rule, false});
    }
  }
  for (const Accumulator sums : {f32, f16}) {
    all.push_back({Element::e4m3, Element::e4m3, sums, 16, kAda, false});
    all.push_back({Element::e4m3, Element::e5m2, sums, 32, kAda, false});
    all.push_back({Element::e5m2, Element::e4m3, sums, 32, kWgmma, false});
    all.push_back({Element::e5m2, Element::e5m2, sums, 32, kWgmma, false});
    all.push_back({Element::e4m3, Element::e4m3, sums, 32, kWgmma, false});
  }
  for (const bool saturate : {false, true}) {
    all.push_back({Element::s8, Element::s8, Accumulator::s32, 32, kAmpere, saturate});
    all.push_back({Element::s8, Element::u8, Accumulator::s32, 16, kAmpere, saturate});
    all.push_back({Element::u8, Element::s8, Accumulator::s32, 32, kHopper, saturate});
    all.push_back({Element::u8, Element::u8, Accumulator::s32, 16, kHopper, saturate});
  }
  return all;
}

}  // namespace

TEST_CASE("the fast path equals the plain one bit for bit" * doctest::test_suite("conditional")) {
  if (!avx2_available()) return test::skip("this processor has no AVX2");
  Random random(20240607);
  constexpr int kRounds = 40;  // 34 kinds, 7 ranges, 128 outputs each: a million dot-adds
  for (const MmaKind& kind : kinds()) {
    for (const Range range : {Range::all_finite, Range::near, Range::infinite_sums,
                              Range::with_zeros, Range::tiny, Range::huge, Range::anything}) {
      int rows_left = 0;
      int different = 0;
      for (int round = 0; round < kRounds; ++round) {
        Warp fast;
        Warp plain;
        fill(random, kind, range, fast);
        plain.a = fast.a;
        plain.b = fast.b;
        plain.c = fast.c;
        rows_left += mma_avx2(kind, 1, fast.fragments());
        mma_reference(kind, plain.fragments());
        different += fast.d == plain.d ? 0 : 1;
      }
      CAPTURE(static_cast<int>(kind.a));
      CAPTURE(static_cast<int>(kind.b));
      CAPTURE(static_cast<int>(kind.accumulator));
      CAPTURE(kind.k);
      CAPTURE(static_cast<int>(kind.rule));
      CAPTURE(static_cast<int>(range));
      CHECK(different == 0);
      // What is compared must be the fast path, not the plain one with itself.
      if (kind.accumulator == Accumulator::s32) {
        CHECK(rows_left == 0);
        continue;
      }
      const bool wide = format_of(kind.a).exponent_bits < 8 && kind.accumulator == Accumulator::f32;
      const bool near = range == Range::near || range == Range::infinite_sums;
      if (near || (wide && range == Range::all_finite)) CHECK(rows_left == 0);
      if (range == Range::anything) CHECK(rows_left > 0);
    }
  }
}

TEST_CASE("tiles side by side are single products, also where rows are left to the plain path") {
  Random random(31);
  for (const Range range : {Range::near, Range::anything}) {
    for (const MmaKind& kind : kinds()) {
      Warp apart[3];
      fill(random, kind, range, apart[0]);
      std::array<Lanes, 12> d{};
      std::array<ConstLanes, 12> c{};
      std::array<ConstLanes, 6> b{};
      std::array<std::array<std::uint32_t, 32>, 12> together{};
      const std::size_t sums = kind.accumulator == Accumulator::f16 ? 2 : 4;
      const auto registers = static_cast<std::size_t>(kind.k * bits_of(kind.b) / 128);
      for (std::size_t tile = 0; tile < 3; ++tile) {
        if (tile > 0) fill(random, kind, range, apart[tile]);
        apart[tile].a = apart[0].a;
        for (std::size_t i = 0; i < registers; ++i)
          b[registers * tile + i] = apart[tile].b[i].data();
        for (std::size_t i = 0; i < sums; ++i) {
          c[sums * tile + i] = apart[tile].c[i].data();
          d[sums * tile + i] = together[sums * tile + i].data();
        }
      }
      mma_m16(kind, 3, {d.data(), apart[0].a_lanes.data(), b.data(), c.data()});
      CAPTURE(static_cast<int>(kind.a));
      CAPTURE(kind.k);
      for (std::size_t tile = 0; tile < 3; ++tile) {
        mma_m16n8(kind, apart[tile].fragments());
        for (std::size_t i = 0; i < sums; ++i) {
          CHECK(together[sums * tile + i] == apart[tile].d[i]);
        }
      }
    }
  }
}

}  // namespace fa_tune::test
