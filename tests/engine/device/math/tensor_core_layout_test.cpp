// Where each element of a fragment belongs, written down a second time from the PTX ISA, and a
// plain matrix product of small integers, which every rule of rounding leaves exact.

#include <doctest/doctest.h>

#include "engine/base/half.hpp"
#include "engine/base/random.hpp"
#include "warp.hpp"

using namespace fa_tune;
using namespace fa_tune::emulator;

namespace {

using Encode = std::uint16_t (*)(double);

struct Case {
  MmaKind kind;
  Encode encode;
};

void put_half(std::uint32_t& word, int index, std::uint16_t bits) {
  word |= std::uint32_t{bits} << (16 * (index % 2));
}

std::uint16_t get_half(std::uint32_t word, int index) {
  return static_cast<std::uint16_t>(word >> (16 * (index % 2)));
}

void call(const MmaKind& kind, const Warp& w) {
  if (kind.accumulator == Accumulator::f16) {
    mma_m16n8k16_f16_f16(kind.rule, w.d_lanes.data(), w.a_lanes.data(), w.b_lanes.data(),
                         w.c_lanes.data());
  } else if (kind.k == 8) {
    mma_m16n8k8_f32_f16(kind.rule, w.d_lanes.data(), w.a_lanes.data(), w.b_lanes.data(),
                        w.c_lanes.data());
  } else if (kind.element == Element::bf16) {
    mma_m16n8k16_f32_bf16(kind.rule, w.d_lanes.data(), w.a_lanes.data(), w.b_lanes.data(),
                          w.c_lanes.data());
  } else {
    mma_m16n8k16_f32_f16(kind.rule, w.d_lanes.data(), w.a_lanes.data(), w.b_lanes.data(),
                         w.c_lanes.data());
  }
}

void check_product(const Case& test, bool reference) {
  Random random(7);
  const auto small = [&] { return static_cast<int>(random.below(9)) - 4; };
  int a[16][16];
  int b[16][8];
  int c[16][8];
  for (auto& row : a) {
    for (int& x : row) x = small();
  }
  for (auto& row : b) {
    for (int& x : row) x = small();
  }
  for (auto& row : c) {
    for (int& x : row) x = small();
  }

  Warp warp;
  const bool half_sums = test.kind.accumulator == Accumulator::f16;
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    const int thread = lane & 3;
    for (int i = 0; i < test.kind.k / 2; ++i) {
      const int row = group + (i % 4 >= 2 ? 8 : 0);
      const int k = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      put_half(warp.a[i / 2][lane], i, test.encode(a[row][k]));
    }
    for (int i = 0; i < test.kind.k / 4; ++i) {
      const int k = thread * 2 + (i & 1) + (i >= 2 ? 8 : 0);
      put_half(warp.b[i / 2][lane], i, test.encode(b[k][group]));
    }
    for (int i = 0; i < 4; ++i) {
      const int value = c[group + (i >= 2 ? 8 : 0)][thread * 2 + (i & 1)];
      if (half_sums) {
        put_half(warp.c[i / 2][lane], i, to_f16(value));
      } else {
        warp.c[i][lane] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      }
    }
  }
  if (reference) {
    mma_reference(test.kind, warp.fragments());
  } else {
    call(test.kind, warp);
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = (lane >> 2) + (i >= 2 ? 8 : 0);
      const int column = (lane & 3) * 2 + (i & 1);
      int expected = c[row][column];
      for (int k = 0; k < test.kind.k; ++k) expected += a[row][k] * b[k][column];
      const float found = half_sums ? from_f16(get_half(warp.d[i / 2][lane], i))
                                    : std::bit_cast<float>(warp.d[i][lane]);
      REQUIRE(found == static_cast<float>(expected));
    }
  }
}

}  // namespace

TEST_CASE("fragments hold the elements the PTX ISA says") {
  for (const TensorRule rule : {TensorRule::ampere, TensorRule::hopper}) {
    const Case cases[] = {
        {{Element::f16, Accumulator::f32, 16, rule}, to_f16},
        {{Element::bf16, Accumulator::f32, 16, rule}, to_bf16},
        {{Element::f16, Accumulator::f32, 8, rule}, to_f16},
        {{Element::f16, Accumulator::f16, 16, rule}, to_f16},
    };
    for (const Case& test : cases) {
      check_product(test, false);
      check_product(test, true);
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
    const MmaKind kind{Element::f16, Accumulator::f32, 16, rule};
    call(kind, apart);
    // Turned by one register as well: a result may not be written before all operands were read.
    for (std::size_t r = 0; r < 4; ++r) {
      over_c.d_lanes[r] = over_c.c[(r + 1) % 4].data();
      over_a.d_lanes[r] = over_a.a[r].data();
    }
    call(kind, over_c);
    call(kind, over_a);
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(over_c.c[(r + 1) % 4] == apart.d[r]);
      CHECK(over_a.a[r] == apart.d[r]);
    }
  }
}
