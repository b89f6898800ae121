#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/util/random.hpp"
#include "tools/bench/tensor_core/formats.hpp"

namespace fa_tune::bench {

// How the operands of a product are drawn.
enum class Draw {
  all_exponents,  // each exponent by itself, subnormals included
  near,           // close to 1
  window,         // close to some power of two
  zeros,          // many zeros of both signs and subnormals
  tiny,           // results at the lower end of the sums' range
  faint,          // terms that are below it
  huge,           // results at its upper end
  special,        // infinities and NaN among them
  cancelling,     // products that cancel in pairs
  cancelled,      // c is what the products sum up to, or nearly, with the other sign
  count,
};
std::string to_text(Draw draw);

// The operands of one warp as matrices of bits. k is 32 at most.
struct Operands {
  Draw draw = Draw::near;
  std::array<std::array<std::uint64_t, 32>, 16> a{};  // [row][k]
  std::array<std::array<std::uint64_t, 32>, 8> b{};   // [column][k]
  std::array<std::array<std::uint64_t, 8>, 16> c{};   // [row][column]
};

Operands draw_operands(const Format& format, Draw draw, Random& random);

// Fragments of one warp: registers of 32 lanes each, in words of 64 bits for f64 (else the lower
// half). b of wgmma is drawn once a block: set it before c, which `cancelled` makes from both.
struct Registers {
  using Register = std::array<std::uint64_t, 32>;
  std::array<Register, 8> a{};
  std::array<Register, 4> b{};
  std::array<Register, 4> c{};
};
Registers to_registers(const Format& format, const Operands& operands);
// d[row][column] from the registers of a result.
std::array<std::array<std::uint64_t, 8>, 16> from_registers(
    const Format& format, const std::array<Registers::Register, 4>& d);

// What the emulator makes of it.
std::array<Registers::Register, 4> emulate(const Format& format, const Registers& registers);

// Draws c anew where the draw is `cancelled`.
void cancel(const Format& format, Operands& operands, Random& random);

}  // namespace fa_tune::bench
