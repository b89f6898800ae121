#include "engine/util/half.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fa_tune {
namespace {

// A format with one sign bit, `fraction_bits` stored bits and the rest exponent.
struct Format {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number
  int sign;
  int too_large;  // bits of what is too large, and of infinity
  int nan;
};

constexpr Format kF16{10, -14, 0x8000, 0x7c00, 0x7e00};
constexpr Format kBf16{7, -126, 0x8000, 0x7f80, 0x7fc0};
constexpr Format kE4m3{3, -6, 0x80, 0x7e, 0x7f};
constexpr Format kE5m2{2, -14, 0x80, 0x7b, 0x7f};

std::uint16_t encode(double value, const Format& format) {
  const int sign = std::signbit(value) ? format.sign : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | format.nan);
  if (value == 0) return static_cast<std::uint16_t>(sign);  // to frexp zero has an exponent of 0
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| = [0.5, 1) * 2^exponent
  exponent = std::max(exponent - 1, format.min_exponent);
  // Larger than any format holds by far, and infinity, whose exponent frexp leaves open.
  if (std::isinf(value) || exponent > 200)
    return static_cast<std::uint16_t>(sign | format.too_large);

  // In units of the last place, where nearbyint rounds as wanted.
  const double units = std::nearbyint(std::ldexp(std::abs(value), format.fraction_bits - exponent));
  // The leading bit of a normal number adds one to the exponent field, and so does a carry out of
  // the significand; a subnormal number has neither. Hence the field starts one below.
  const int field = (exponent - format.min_exponent) << format.fraction_bits;
  return static_cast<std::uint16_t>(sign |
                                    std::min(field + static_cast<int>(units), format.too_large));
}

}  // namespace

std::uint16_t to_f16(double value) { return encode(value, kF16); }
std::uint16_t to_bf16(double value) { return encode(value, kBf16); }
std::uint8_t to_e4m3(double value) { return static_cast<std::uint8_t>(encode(value, kE4m3)); }
std::uint8_t to_e5m2(double value) { return static_cast<std::uint8_t>(encode(value, kE5m2)); }

float from_e4m3(std::uint8_t bits) {
  const int magnitude = bits & 0x7f;
  if (magnitude == kE4m3.nan) return std::numeric_limits<float>::quiet_NaN();
  const int field = magnitude >> kE4m3.fraction_bits;
  const int leading = field == 0 ? 0 : 1 << kE4m3.fraction_bits;
  const int units = leading + (magnitude & ((1 << kE4m3.fraction_bits) - 1));
  const float value = std::ldexp(static_cast<float>(units),
                                 std::max(field - 1, 0) + kE4m3.min_exponent - kE4m3.fraction_bits);
  return (bits & kE4m3.sign) != 0 ? -value : value;
}

// It is the upper half of an f16.
float from_e5m2(std::uint8_t bits) { return from_f16(static_cast<std::uint16_t>(bits << 8)); }

}  // namespace fa_tune
