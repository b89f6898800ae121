// Where each element of a fragment belongs, written down a second time from the PTX ISA, and a
// plain matrix product of small integers, which every rule of rounding leaves exact.

#include <cmath>
#include <cstdlib>
#include <utility>

#include <doctest/doctest.h>

#include "engine/util/half.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/device/math/fragments.hpp"
#include "warp.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

void check_product(const MmaKind& kind, bool reference) {
  Random random(7);
  const auto small = [&](Element element) {
    const int value = static_cast<int>(random.below(9)) - 4;
    return element == Element::u8 ? std::abs(value) : value;
  };
  int a[16][32];
  int b[32][8];
  int c[16][8];
  for (auto& row : a) {
    for (int& x : row) x = small(kind.a);
  }
  for (auto& row : b) {
    for (int& x : row) x = small(kind.b);
  }
  for (auto& row : c) {
    for (int& x : row) x = small(Element::s8);
  }

  Warp warp;
  const Accumulator sums = kind.accumulator;
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    for (int i = 0; i < kind.k / 2; ++i) {
      const Place place = place_of_a(kind.a, lane, i);
      put(&warp.a[0][lane], kind.a, i, encode(kind.a, a[place.row][place.k]));
    }
    for (int i = 0; i < kind.k / 4; ++i) {
      put(&warp.b[0][lane], kind.b, i, encode(kind.b, b[place_of_b(kind.b, lane, i)][group]));
    }
    for (int i = 0; i < 4; ++i) {
      const int value = c[group + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)];
      if (sums == Accumulator::f16) {
        put(&warp.c[0][lane], Element::f16, i, to_f16(value));
      } else if (sums == Accumulator::f32) {
        warp.c[i][lane] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      } else {
        warp.c[i][lane] = static_cast<std::uint32_t>(value);
      }
    }
  }
  if (reference) {
    mma_reference(kind, warp.fragments());
  } else {
    mma_m16n8(kind, warp.fragments());
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = (lane >> 2) + (i >= 2 ? 8 : 0);
      const int column = (lane & 3) * 2 + (i & 1);
      int expected = c[row][column];
      for (int k = 0; k < kind.k; ++k) expected += a[row][k] * b[k][column];
      const std::uint32_t word = warp.d[sums == Accumulator::f16 ? i / 2 : i][lane];
      if (sums == Accumulator::s32) {
        REQUIRE(static_cast<int>(word) == expected);
      } else if (sums == Accumulator::f32) {
        REQUIRE(std::bit_cast<float>(word) == static_cast<float>(expected));
      } else {
        REQUIRE(from_f16(static_cast<std::uint16_t>(word >> (i % 2 * 16))) ==
                static_cast<float>(expected));
      }
    }
  }
}

}  // namespace

TEST_CASE("fragments hold the elements the PTX ISA says") {
  struct Pair {
    Element a;
    Element b;
    Accumulator sums;
  };
  constexpr Pair pairs[] = {
      {Element::f16, Element::f16, Accumulator::f32},
      {Element::f16, Element::f16, Accumulator::f16},
      {Element::bf16, Element::bf16, Accumulator::f32},
      {Element::tf32, Element::tf32, Accumulator::f32},
      {Element::e4m3, Element::e4m3, Accumulator::f32},
      {Element::e5m2, Element::e4m3, Accumulator::f32},
      {Element::e4m3, Element::e5m2, Accumulator::f16},
      {Element::e5m2, Element::e5m2, Accumulator::f16},
      {Element::s8, Element::s8, Accumulator::s32},
      {Element::u8, Element::s8, Accumulator::s32},
      {Element::s8, Element::u8, Accumulator::s32},
      {Element::u8, Element::u8, Accumulator::s32},
  };
  for (const TensorRule rule :
       {TensorRule::ampere, TensorRule::ada, TensorRule::hopper, TensorRule::hopper_wgmma}) {
    for (const Pair& pair : pairs) {
      for (const int bits : {128, 256}) {
        const MmaKind kind{pair.a, pair.b, pair.sums, bits / bits_of(pair.a), rule, false};
        CAPTURE(static_cast<int>(kind.a));
        CAPTURE(kind.k);
        check_product(kind, false);
        check_product(kind, true);
      }
    }
  }
}

TEST_CASE("f64 products are chains of fused multiply-adds") {
  Random random(5);
  for (const auto& [m, k] : {std::pair{8, 4}, std::pair{16, 4}, std::pair{16, 8}}) {
    double a[16][8];
    double b[8][8];
    double c[16][8];
    for (auto& row : a) {
      for (double& x : row) x = random.normal();
    }
    for (auto& row : b) {
      for (double& x : row) x = random.normal();
    }
    for (auto& row : c) {
      for (double& x : row) x = random.normal();
    }
    Double fa[4][32];
    Double fb[2][32];
    Double fc[4][32];
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4;
      const int thread = lane % 4;
      for (int i = 0; i < m / 8 * (k / 4); ++i) {
        // PTX ISA: a0 (g, t), a1 (g + 8, t), a2 (g, t + 4), a3 (g + 8, t + 4).
        fa[i][lane] = a[group + (m == 16 ? i % 2 * 8 : 0)][thread + (i >= 2 ? 4 : 0)];
      }
      for (int i = 0; i < k / 4; ++i) fb[i][lane] = b[thread + 4 * i][group];
      for (int i = 0; i < m / 4; ++i) {
        fc[i][lane] = c[group + (i >= 2 ? 8 : 0)][thread * 2 + i % 2];
      }
    }
    const Lanes64 d_lanes[] = {fc[0], fc[1], fc[2], fc[3]};
    const ConstLanes64 c_lanes[] = {fc[0], fc[1], fc[2], fc[3]};
    const ConstLanes64 a_lanes[] = {fa[0], fa[1], fa[2], fa[3]};
    const ConstLanes64 b_lanes[] = {fb[0], fb[1]};
    mma_f64(m, k, d_lanes, a_lanes, b_lanes, c_lanes);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < m / 4; ++i) {
        const int row = lane / 4 + (i >= 2 ? 8 : 0);
        const int column = lane % 4 * 2 + i % 2;
        double expected = c[row][column];
        for (int each = 0; each < k; ++each) {
          expected = std::fma(a[row][each], b[each][column], expected);
        }
        REQUIRE(fc[i][lane] == expected);
      }
    }
  }
}

TEST_CASE("d may be the registers of c, or of another operand") {
  for (const TensorRule rule : {TensorRule::ampere, TensorRule::hopper}) {
    Warp apart;
    Random random(3);
    for (auto& r : apart.a) {
      for (auto& x : r) x = to_f16(random.normal()) | std::uint32_t{to_f16(random.normal())} << 16;
    }
    for (auto& r : apart.b) {
      for (auto& x : r) x = to_f16(random.normal()) | std::uint32_t{to_f16(random.normal())} << 16;
    }
    for (auto& r : apart.c) {
      for (auto& x : r) x = std::bit_cast<std::uint32_t>(static_cast<float>(random.normal()));
    }
    Warp over_c;
    Warp over_a;
    for (Warp* w : {&over_c, &over_a}) {
      w->a = apart.a;
      w->b = apart.b;
      w->c = apart.c;
    }
    const MmaKind kind{Element::f16, Element::f16, Accumulator::f32, 16, rule, false};
    mma_m16n8(kind, apart.fragments());
    // Turned by one register as well: a result may not be written before all operands were read.
    for (std::size_t r = 0; r < 4; ++r) {
      over_c.d_lanes[r] = over_c.c[(r + 1) % 4].data();
      over_a.d_lanes[r] = over_a.a[r].data();
    }
    mma_m16n8(kind, over_c.fragments());
    mma_m16n8(kind, over_a.fragments());
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(over_c.c[(r + 1) % 4] == apart.d[r]);
      CHECK(over_a.a[r] == apart.d[r]);
    }
  }
}

}  // namespace fa_tune::test
