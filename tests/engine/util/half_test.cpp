#include "engine/util/half.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

TEST_CASE("half: every value of both formats survives the way there and back") {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float f16 = from_f16(bits);
    const float bf16 = from_bf16(bits);
    if (std::isnan(f16))
      CHECK(std::isnan(from_f16(to_f16(static_cast<double>(f16)))));
    else
      REQUIRE(to_f16(static_cast<double>(f16)) == bits);
    if (!std::isnan(bf16)) REQUIRE(to_bf16(static_cast<double>(bf16)) == bits);
  }
}

TEST_CASE("half: e4m3") {
  for (std::uint32_t i = 0; i < 0x100; ++i) {
    const auto bits = static_cast<std::uint8_t>(i);
    if ((i & 0x7f) == 0x7f)
      CHECK(std::isnan(from_e4m3(bits)));
    else
      REQUIRE(to_e4m3(static_cast<double>(from_e4m3(bits))) == bits);
  }
  CHECK(from_e4m3(0x01) == 0x1p-9F);
  CHECK(from_e4m3(0x07) == 7 * 0x1p-9F);
  CHECK(from_e4m3(0x08) == 0x1p-6F);
  CHECK(from_e4m3(0x38) == 1);
  CHECK(from_e4m3(0xfe) == -448);
  CHECK(to_e4m3(463.9) == 0x7e);
  CHECK(to_e4m3(-1e30) == 0xfe);
  CHECK(to_e4m3(std::numeric_limits<double>::infinity()) == 0x7e);
  CHECK(to_e4m3(std::numeric_limits<double>::quiet_NaN()) == 0x7f);
  CHECK(to_e4m3(0x1p-10) == 0);        // a tie, to even
  CHECK(to_e4m3(0x1.8p-9) == 2);       // a tie, to even
  CHECK(to_e4m3(0x1.fp-7) == 0x08);    // carries into the smallest normal
  CHECK(to_e4m3(1 + 0x1p-4) == 0x38);  // a tie, to even
  CHECK(to_e4m3(1 + 0x1p-4 + 0x1p-40) == 0x39);
  Random random(4);
  for (int i = 0; i < 100'000; ++i) {
    const double magnitude =
        std::ldexp(1 + random.uniform(), static_cast<int>(random.below(24)) - 16);
    const auto value = static_cast<float>(random.below(2) == 0 ? magnitude : -magnitude);
    REQUIRE(round_to_e4m3(value) == from_e4m3(to_e4m3(static_cast<double>(value))));
  }
  CHECK(round_to_e4m3(450) == 448);
  CHECK(std::signbit(round_to_e4m3(-0x1p-12F)));
}

TEST_CASE("half: e5m2") {
  for (std::uint32_t i = 0; i < 0x100; ++i) {
    const auto bits = static_cast<std::uint8_t>(i);
    const float value = from_e5m2(bits);
    if ((i & 0x7f) > 0x7c)
      CHECK(std::isnan(value));
    else if ((i & 0x7f) == 0x7c)
      CHECK(std::isinf(value));
    else
      REQUIRE(to_e5m2(static_cast<double>(value)) == bits);
  }
  CHECK(from_e5m2(0x01) == 0x1p-16F);
  CHECK(from_e5m2(0x7b) == 57344);
  CHECK(to_e5m2(1e30) == 0x7b);  // as CUDA's constructor, which saturates
  CHECK(to_e5m2(-std::numeric_limits<double>::infinity()) == 0xfb);
  CHECK(to_e5m2(std::numeric_limits<double>::quiet_NaN()) == 0x7f);
  CHECK(to_e5m2(1.125) == 0x3c);  // a tie, to even
}

TEST_CASE("half: known values") {
  CHECK(to_f16(0.0) == 0);
  CHECK(to_f16(-0.0) == 0x8000);
  CHECK(to_f16(1.0) == 0x3c00);
  CHECK(to_f16(-2.0) == 0xc000);
  CHECK(to_f16(65504.0) == 0x7bff);
  CHECK(to_f16(65519.9) == 0x7bff);
  CHECK(to_f16(65520.0) == 0x7c00);
  CHECK(to_f16(1e300) == 0x7c00);
  CHECK(to_f16(-std::numeric_limits<double>::infinity()) == 0xfc00);
  CHECK(to_f16(0x1p-24) == 1);
  CHECK(to_f16(0x1p-25) == 0);           // a tie, to even
  CHECK(to_f16(0x1.8p-24) == 2);         // a tie, to even
  CHECK(to_f16(0x1.ff8p-15) == 0x3ff);   // the largest subnormal
  CHECK(to_f16(0x1.fffp-15) == 0x400);   // carries into the smallest normal
  CHECK(to_f16(1 + 0x1p-11) == 0x3c00);  // a tie, to even
  CHECK(to_f16(1 + 3 * 0x1p-11) == 0x3c02);
  // Rounding to float first would make this a tie and lose the rest.
  CHECK(to_f16(1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(to_bf16(1.0) == 0x3f80);
  CHECK(to_bf16(1 + 0x1p-8) == 0x3f80);
  CHECK(to_bf16(1 + 3 * 0x1p-8) == 0x3f82);
  CHECK(to_bf16(3.5e38) == 0x7f80);
}

TEST_CASE("half: rounding a float in place equals going through the bits") {
  Random random(3);
  for (int i = 0; i < 300'000; ++i) {
    const double magnitude =
        std::ldexp(1 + random.uniform(), static_cast<int>(random.below(48)) - 30);
    const auto value = static_cast<float>(random.below(2) == 0 ? magnitude : -magnitude);
    REQUIRE(round_to_f16(value) == from_f16(to_f16(static_cast<double>(value))));
    REQUIRE(round_to_bf16(value) == from_bf16(to_bf16(static_cast<double>(value))));
  }
  CHECK(round_to_f16(0) == 0);
}

}  // namespace fa_tune::test
