#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "engine/problem/problem.hpp"
#include "engine/util/half.hpp"

namespace fa_tune::problem {

// A format's grid. A value of e4m3 is taken for 2^8 times a probability: kernels make that, so that
// the largest of a row is 256 and small ones stay above the subnormal numbers. (One that makes less,
// for room above, is held to the same bounds.)
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
// see tolerance.hpp.
constexpr double kRoundingOfP = 0.425;

// Below its smallest normal number a format rounds by an absolute step and at last to zero. The
// value whose relative error is as large as that absolute one stands in for such a p. bf16 reaches
// so far down that nothing is lost.
inline float error_weight(DType dtype, float p) {
  if (dtype == DType::bf16) return p;
  const bool e4m3 = dtype == DType::e4m3;
  constexpr auto kRounding = static_cast<float>(kRoundingOfP);
  const float smallest_normal = 0x1p-14F;  // of both; e4m3 with its gain
  const float relative = kRounding * (e4m3 ? 0x1p-4F : 0x1p-11F);
  const float absolute = (e4m3 ? 0x1p-18F : 0x1p-25F) / std::numbers::sqrt3_v<float>;
  return p < smallest_normal ? std::min(absolute, p) / relative : p;
}

// Sums of rows with coefficients, out[j] += sum over i of coefficients[i] * rows[i * width + j],
// as Hopper's tensor cores add products of e4m3 (wgmma; MMA-Sim, arXiv 2511.10909): in
// steps of 32, of each of which the sum so far and the products are cut off, towards zero, at 13
// bits below the largest one's leading bit, and then the new sum at 13 bits below its own.
inline void add_rows_cut_off(float* __restrict out, std::size_t width,
                             const float* __restrict coefficients, std::size_t count,
                             const float* __restrict rows) {
  constexpr std::size_t step = 32;
  constexpr std::size_t lanes = 16;
  constexpr std::uint32_t exponent = 0x7f800000U;
  constexpr std::uint32_t kept = ~0x3ffU;  // 13 of 23 fraction bits
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t end = std::min(first + step, count);
    for (std::size_t from = 0; from < width; from += lanes) {
      const std::size_t here = std::min(lanes, width - from);
      std::array<std::uint32_t, lanes> largest{};
      std::array<float, lanes> unit{}, per_unit{}, sum{};
      for (std::size_t j = 0; j < here; ++j)
        largest[j] = std::bit_cast<std::uint32_t>(out[from + j]) & exponent;
      for (std::size_t i = first; i < end; ++i)
        for (std::size_t j = 0; j < here; ++j)
          largest[j] =
              std::max(largest[j],
                       std::bit_cast<std::uint32_t>(coefficients[i] * rows[i * width + from + j]) &
                           exponent);
      for (std::size_t j = 0; j < here; ++j) {
        // Not below 2^-100: neither 2^-13 of it nor its inverse then leave the normal numbers.
        const std::uint32_t top = std::max(largest[j], 27U << 23);
        unit[j] = std::bit_cast<float>(top - (13U << 23));
        per_unit[j] = std::bit_cast<float>((254U << 23) - (top - (13U << 23)));
        sum[j] = static_cast<float>(static_cast<std::int32_t>(out[from + j] * per_unit[j]));
      }
      for (std::size_t i = first; i < end; ++i)
        for (std::size_t j = 0; j < here; ++j)
          sum[j] += static_cast<float>(static_cast<std::int32_t>(
              coefficients[i] * rows[i * width + from + j] * per_unit[j]));
      for (std::size_t j = 0; j < here; ++j)
        out[from + j] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum[j] * unit[j]) & kept);
    }
  }
}

}  // namespace fa_tune::problem
