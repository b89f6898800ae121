#pragma once

#include <bit>
#include <cstdint>

namespace fa_tune {

// The floating-point formats of tensor cores, as bits: f16 is IEEE 754 binary16 (11 significant
// bits, smallest normal 2^-14), bf16 the upper half of binary32 (8 significant bits), e4m3 a byte
// (4 significant bits, smallest normal 2^-6, largest 448, no infinity; OCP 8-bit Floating Point
// Specification), e5m2 a byte too (3 significant bits, smallest normal 2^-14, largest 57344, with
// infinity). Rounding is to nearest, ties to even, once: from double straight to the format,
// subnormals included. What is too large becomes infinity, in 8 bits the largest number, as CUDA's
// conversions do; a NaN stays a (quiet) NaN.
std::uint16_t to_f16(double value);
std::uint16_t to_bf16(double value);
std::uint8_t to_e4m3(double value);
std::uint8_t to_e5m2(double value);

// Exact, as the next three.
float from_e4m3(std::uint8_t bits);
float from_e5m2(std::uint8_t bits);

// Without branches, as what follows: a loop of it becomes vector code.
inline float from_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffU;
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  // A float's exponent has a bias of 127, this one's is 15; infinity and NaN have all ones in both.
  const std::uint32_t bias = magnitude >= 0x7c00U ? (255U - 31U) << 23 : (127U - 15U) << 23;
  const std::uint32_t normal = (magnitude << 13) + bias;
  const auto small = std::bit_cast<std::uint32_t>(subnormal);
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  return std::bit_cast<float>((magnitude < 0x400U ? small : normal) | sign);
}

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The nearest f16 or bf16 value of a finite float, kept as a float. Without branches, so that a
// loop of it becomes vector code. Equal to from_f16(to_f16(value)) and from_bf16(to_bf16(value)).
inline float round_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // 13 bits of the significand go; adding 0xfff plus the last kept bit rounds ties to even.
  const std::uint32_t rounded = (bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU;
  // Below 2^-14 the grid is 2^-24 wide, which is one unit of a float in [0.5, 1).
  const float subnormal = (std::bit_cast<float>(magnitude) + 0.75F) - 0.75F;
  const std::uint32_t sign = bits & 0x80000000U;
  const auto small = std::bit_cast<std::uint32_t>(subnormal) | sign;
  const std::uint32_t infinite = 0x7f800000U | sign;
  const std::uint32_t normal = magnitude >= 0x477ff000U ? infinite : rounded;  // 65520 and above
  return std::bit_cast<float>(magnitude < 0x38800000U ? small : normal);
}

inline float round_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U);
}

// The same of e4m3, for |value| below 464, which still rounds to 448.
inline float round_to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rounded = (bits + 0x7ffffU + ((bits >> 20) & 1U)) & ~0xfffffU;
  // Below 2^-6 the grid is 2^-9 wide, which is one unit of a float in [2^14, 2^15).
  const float subnormal = (std::bit_cast<float>(magnitude) + 0x1.8p14F) - 0x1.8p14F;
  const auto small = std::bit_cast<std::uint32_t>(subnormal) | (bits & 0x80000000U);
  return std::bit_cast<float>(magnitude < 0x3c800000U ? small : rounded);
}

}  // namespace fa_tune
