#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/half.hpp"
#include "warp.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr auto kAmpereRule = TensorRule::ampere;
constexpr auto kHopperRule = TensorRule::hopper;

struct Factors {
  double a;
  double b;
};

std::uint32_t bits(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

// One dot-add through the whole instruction (row 0, column 0), by the public function.
std::uint32_t add_f32(TensorRule rule, double c, const std::vector<Factors>& products,
                      Element element = Element::f16) {
  Warp warp;
  warp.c[0][0] = bits(c);
  for (std::size_t k = 0; k < products.size(); ++k) {
    const bool f16 = element == Element::f16;
    const std::uint32_t a = f16 ? to_f16(products[k].a) : to_bf16(products[k].a);
    const std::uint32_t b = f16 ? to_f16(products[k].b) : to_bf16(products[k].b);
    const std::size_t lane = k % 8 / 2;
    warp.a[2 * (k / 8)][lane] |= a << (16 * (k % 2));
    warp.b[k / 8][lane] |= b << (16 * (k % 2));
  }
  mma_m16n8({element, element, Accumulator::f32, 16, rule, false}, warp.fragments());
  return warp.d[0][0];
}

std::uint32_t add_f16(TensorRule rule, double c, const std::vector<Factors>& products) {
  Warp warp;
  warp.c[0][0] = to_f16(c);
  for (std::size_t k = 0; k < products.size(); ++k) {
    const std::size_t lane = k % 8 / 2;
    warp.a[2 * (k / 8)][lane] |= std::uint32_t{to_f16(products[k].a)} << (16 * (k % 2));
    warp.b[k / 8][lane] |= std::uint32_t{to_f16(products[k].b)} << (16 * (k % 2));
  }
  mma_m16n8({Element::f16, Element::f16, Accumulator::f16, 16, rule, false}, warp.fragments());
  return warp.d[0][0] & 0xFFFF;
}

double power(int exponent) { return std::ldexp(1.0, exponent); }

}  // namespace

TEST_CASE("terms are truncated toward zero when they are aligned") {
  // Beside 1 the last place that counts is 2^-24 (ampere) or 2^-25 (hopper).
  CHECK(add_f32(kAmpereRule, 1.0, {{-power(-12), power(-13)}}) == bits(1.0));
  CHECK(add_f32(kHopperRule, 1.0, {{-power(-12), power(-13)}}) == 0x3F7FFFFF);
  CHECK(add_f32(kAmpereRule, 1.0, {{-power(-12), power(-12)}}) == 0x3F7FFFFF);
  CHECK(add_f32(kHopperRule, 1.0, {{-power(-13), power(-13)}}) == bits(1.0));
  // The result is truncated, not rounded: 1 + 2^-23 * 0.75.
  CHECK(add_f32(kAmpereRule, 1.0, {{power(-12), power(-12)}, {power(-12), power(-13)}}) ==
        bits(1.0));
  CHECK(add_f32(kHopperRule, -1.0, {{-power(-12), power(-12)}, {-power(-12), power(-13)}}) ==
        bits(-1.0));
}

TEST_CASE("ampere takes k in two halves, hopper at once") {
  std::vector<Factors> products(16, {0.0, 0.0});
  products[0] = {power(-12), power(-12)};
  products[8] = {power(-12), power(-12)};
  CHECK(add_f32(kAmpereRule, 1.0, products) == 0x3F800000);  // each half loses its 2^-24
  CHECK(add_f32(kHopperRule, 1.0, products) == 0x3F800001);
  products[1] = products[8];
  products[8] = {0.0, 0.0};
  CHECK(add_f32(kAmpereRule, 1.0, products) == 0x3F800001);  // both in one half
}

TEST_CASE("the exponent of a product is not renormalized") {
  // 1.5 * 1.5 = 2.25 counts as 2^0, so 2^-24 survives beside it.
  CHECK(add_f32(kAmpereRule, power(-24), {{1.5, 1.5}, {-1.5, 1.5}}) == bits(power(-24)));
  CHECK(add_f32(kAmpereRule, power(-24), {{1.5, 3.0}, {-1.5, 3.0}}) == 0);
  CHECK(add_f32(kHopperRule, power(-25), {{1.5, 1.5}, {-1.5, 1.5}}) == bits(power(-25)));
}

TEST_CASE("subnormals are kept and have the smallest normal exponent") {
  CHECK(add_f32(kAmpereRule, 0.0, {{power(-24), 1.0}}) == bits(power(-24)));
  CHECK(add_f32(kAmpereRule, 0.0, {{power(-24), power(-24)}}) == bits(power(-48)));
  // 2^-24 counts as 2^-14: what is below 2^-38 is lost beside it.
  CHECK(add_f32(kAmpereRule, power(-39), {{power(-24), 1.0}}) == bits(power(-24)));
  CHECK(add_f32(kHopperRule, power(-39), {{power(-24), 1.0}}) == bits(power(-24) + power(-39)));
  CHECK(add_f32(kAmpereRule, std::bit_cast<float>(1U), {}) == 1U);
  CHECK(add_f32(kHopperRule, std::bit_cast<float>(0x807FFFFFU), {}) == 0x807FFFFFU);
}

TEST_CASE("a zero has no say in the exponent") {
  CHECK(add_f32(kAmpereRule, power(-30), {{0.0, 65504.0}, {power(-20), power(-20)}}) ==
        bits(power(-30) + power(-40)));
}

TEST_CASE("zeros, infinities and NaN") {
  const double infinity = INFINITY;
  for (const TensorRule rule : {kAmpereRule, kHopperRule}) {
    CHECK(add_f32(rule, -0.0, {{-0.0, 1.0}, {0.0, -1.0}}) == 0);
    CHECK(add_f32(rule, 1.0, {{-1.0, 1.0}}) == 0);
    CHECK(add_f32(rule, -infinity, {{1.0, 1.0}}) == 0xFF800000);
    CHECK(add_f32(rule, 1.0, {{infinity, -2.0}}) == 0xFF800000);
    CHECK(add_f32(rule, 1.0, {{infinity, 0.0}}) == 0x7FFFFFFF);
    CHECK(add_f32(rule, -infinity, {{infinity, 1.0}}) == 0x7FFFFFFF);
    CHECK(add_f32(rule, NAN, {}) == 0x7FFFFFFF);
    CHECK(add_f32(rule, -NAN, {{1.0, 1.0}}) == 0x7FFFFFFF);
    // Too large becomes infinity, though the rounding is toward zero.
    CHECK(add_f32(rule, power(127), {{power(64), power(63)}}, Element::bf16) == 0x7F800000);
    // Beyond the range in between, not in the end.
    CHECK(add_f32(rule, 1.0, {{power(100), power(100)}, {-power(100), power(100)}, {0, 0}},
                  Element::bf16) == 0);
    CHECK(add_f32(rule, 0.0, {{power(-70), power(-70)}}, Element::bf16) ==
          std::bit_cast<std::uint32_t>(std::ldexp(1.0F, -140)));
  }
}

TEST_CASE("16 terms of full size do not wrap around") {
  // The aligned sum is a little above 2^31.
  const double c = 1.5 * power(30);
  const double exact = c + 16 * 65504.0 * 65504.0;
  const std::vector<Factors> positive(16, {65504.0, 65504.0});
  const std::vector<Factors> negative(16, {-65504.0, 65504.0});
  const std::uint32_t sum = add_f32(kHopperRule, c, positive);
  CHECK(std::abs(std::bit_cast<float>(sum) - exact) < exact * power(-23));
  CHECK(add_f32(kHopperRule, -c, negative) == (sum | 0x80000000U));
}

TEST_CASE("f16 results are rounded to nearest even") {
  for (const TensorRule rule : {kAmpereRule, kHopperRule}) {
    CHECK(add_f16(rule, 1.0, {{power(-6), power(-5)}}) == to_f16(1.0));  // tie, down
    CHECK(add_f16(rule, 1.0 + power(-10), {{power(-6), power(-5)}}) == to_f16(1.0 + power(-9)));
    CHECK(add_f16(rule, 1.0, {{power(-6), power(-5)}, {power(-10), power(-10)}}) ==
          to_f16(1.0 + power(-10)));
    CHECK(add_f16(rule, 65504.0, {{15.0, 1.0}}) == 0x7BFF);
    CHECK(add_f16(rule, 65504.0, {{16.0, 1.0}}) == 0x7C00);
    CHECK(add_f16(rule, power(-24), {{power(-12), power(-13)}}) == 2);  // 1.5 units, tie to even
    // c, a subnormal, ranks as 2^-14: beside it 2^-40 is lost, and 2.5 units are a tie.
    CHECK(add_f16(rule, power(-23), {{power(-12), power(-13)}, {power(-20), power(-20)}}) == 2);
    CHECK(add_f16(rule, NAN, {}) == 0x7FFF);
    CHECK(add_f16(rule, -0.0, {}) == 0);
  }
}

}  // namespace fa_tune::test
