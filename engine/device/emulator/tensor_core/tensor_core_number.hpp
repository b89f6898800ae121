#pragma once

#include <cstdint>
#include <span>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

// Numbers as a tensor core's adder sees them, in plain integers; for the reference.

namespace fa_tune::emulator {

// (-1)^negative * significand * 2^(exponent - fraction), or an infinity or NaN. A subnormal has the
// smallest normal exponent and a significand below 1.
struct Number {
  bool negative = false;
  bool infinite = false;
  bool nan = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int fraction = 0;  // how many bits of `significand` stand after the point
};

// `bits` as it lies in a register; not for s8 and u8.
Number decode_element(Element element, std::uint32_t bits);
Number decode_f32(std::uint32_t bits);
Number decode_f16(std::uint32_t bits);
// Exact, with the exponents' sum as exponent.
Number multiply(const Number& a, const Number& b);

// (-1)^negative * magnitude * 2^unit, or an infinity or NaN.
struct Total {
  bool nan = false;
  bool infinite = false;
  bool negative = false;
  std::uint64_t magnitude = 0;
  int unit = 0;
};

// All terms, aligned to the largest exponent (at least -133), truncated toward zero to `kept_bits`
// fraction bits, and added exactly.
Total add_terms(std::span<const Number> terms, int kept_bits);

// Truncated toward zero to `fraction` bits after the leading one (23 at most). What becomes zero,
// here and below, is +0.
std::uint32_t to_f32(const Total& total, int fraction);
// Rounded to nearest even.
std::uint32_t to_f16(const Total& total);

}  // namespace fa_tune::emulator
