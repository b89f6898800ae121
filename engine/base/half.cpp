#include "engine/base/half.hpp"

#include <algorithm>
#include <cmath>

namespace fa_tune {
namespace {

// A 16-bit format with one sign bit, `fraction_bits` stored bits and the rest exponent.
struct Format {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number

  int infinity() const { return ((1 << (15 - fraction_bits)) - 1) << fraction_bits; }
};

constexpr Format f16{.fraction_bits = 10, .min_exponent = -14};
constexpr Format bf16{.fraction_bits = 7, .min_exponent = -126};

std::uint16_t encode(double value, const Format& format) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = format.infinity();
  if (std::isnan(value)) {
    const int quiet = 1 << (format.fraction_bits - 1);
    return static_cast<std::uint16_t>(sign | infinity | quiet);
  }
  if (value == 0) return static_cast<std::uint16_t>(sign);  // to frexp zero has an exponent of 0
  if (value == 0) return static_cast<std::uint16_t>(sign);  // it has no exponent to speak of
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| = [0.5, 1) * 2^exponent
  exponent = std::max(exponent - 1, format.min_exponent);
  // Larger than either format holds by far, and infinity, whose exponent frexp leaves open.
  if (std::isinf(value) || exponent > 200) return static_cast<std::uint16_t>(sign | infinity);

  // In units of the last place, where nearbyint rounds as wanted.
  const double units = std::nearbyint(std::ldexp(std::abs(value), format.fraction_bits - exponent));
  // The leading bit of a normal number adds one to the exponent field, and so does a carry out of
  // the significand; a subnormal number has neither. Hence the field starts one below.
  const int field = (exponent - format.min_exponent) << format.fraction_bits;
  return static_cast<std::uint16_t>(sign | std::min(field + static_cast<int>(units), infinity));
}

}  // namespace

std::uint16_t to_f16(double value) { return encode(value, f16); }
std::uint16_t to_bf16(double value) { return encode(value, bf16); }

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude < 0x400U) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  // A float's exponent has a bias of 127, this one's is 15; infinity and NaN have all ones in both.
  const std::uint32_t bias = magnitude >= 0x7c00U ? (255U - 31U) << 23 : (127U - 15U) << 23;
  return std::bit_cast<float>(((magnitude << 13) + bias) | sign);
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace fa_tune
