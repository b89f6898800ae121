#pragma once

#include <algorithm>
#include <cmath>

#include "engine/problem/problem.hpp"
#include "engine/util/half.hpp"

namespace fa_tune {

// A format's grid. A value of e4m3 is taken for 2^8 times a probability: kernels make that, so that
// the largest of a row is 256 and small ones stay above the subnormal numbers.
struct Precision {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number

  double unit_roundoff() const { return std::ldexp(1.0, -fraction_bits - 1); }
  double half_ulp(double value) const {
    const int exponent = value == 0 ? min_exponent : std::max(std::ilogb(value), min_exponent);
    return std::ldexp(1.0, exponent - fraction_bits - 1);
  }
};

constexpr Precision precision_of(DType dtype) {
  if (dtype == DType::e4m3) return {.fraction_bits = 3, .min_exponent = -6 - 8};
  if (dtype == DType::bf16) return {.fraction_bits = 7, .min_exponent = -126};
  return {.fraction_bits = 10, .min_exponent = -14};
}

// A probability as a kernel of the dtype rounds it before P V.
inline float rounded_probability(DType dtype, float p) {
  constexpr float kGain = 256;
  if (dtype == DType::e4m3) return round_to_e4m3(p * kGain) / kGain;
  return dtype == DType::bf16 ? round_to_bf16(p) : round_to_f16(p);
}

// Standard deviation of the relative error that rounding gives to p, in units of the unit roundoff;
// see attention_tolerance.hpp.
constexpr double rounding_of_p = 0.425;

// Below its smallest normal number a format rounds by an absolute step and at last to zero. The
// value whose relative error is as large as that absolute one stands in for such a p. bf16 reaches
// so far down that nothing is lost.
inline float error_weight(DType dtype, float p) {
  if (dtype == DType::bf16) return p;
  const bool e4m3 = dtype == DType::e4m3;
  constexpr auto kRounding = static_cast<float>(rounding_of_p);
  const float smallest_normal = 0x1p-14F;  // of both; e4m3 with its gain
  const float relative = kRounding * (e4m3 ? 0x1p-4F : 0x1p-11F);
  const float absolute = (e4m3 ? 0x1p-18F : 0x1p-25F) / 1.7320508F;
  return p < smallest_normal ? std::min(absolute, p) / relative : p;
}

}  // namespace fa_tune
