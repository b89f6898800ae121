#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/device/device.hpp"
#include "engine/device/emulator/tensor_core/tensor_core.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

// Parts of bench_tensor_core.

namespace fa_tune::bench {

// One form of a matrix instruction, and a CUDA kernel that executes it once a warp.
struct Format {
  std::string name;  // the PTX instruction
  bool wgmma = false;
  bool f64 = false;
  int m = 16;              // 8: the upper rows of a fragment are not there (f64 m8n8k4, s8 m8n8k16)
  emulator::MmaKind kind;  // for f64: k alone counts

  int a_registers() const;
  int b_registers() const;
  int sums() const;  // registers of c and of d
  std::string arch() const { return wgmma ? "sm_90a" : "sm_90"; }
  // CUDA source without headers of `extern "C" __global__ void k(a, b, c, d)`. Register r of lane l
  // of warp w is at word (w * registers + r) * 32 + l of its operand; a block has four warps. For
  // wgmma the block's B is that of its first warp.
  std::string source() const;
};

// Every format of mma.sync and of wgmma that the emulator knows on sm_90.
std::vector<Format> all_formats();

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

// Tiles of every form of wmma.mma (a row-major, b column-major), loaded and stored by wmma as well,
// on two devices: `tiles` of each, operands drawn as for single products. One row a form with the
// number of results and of those that are identical.
nlohmann::ordered_json compare_wmma(device::Device& one, device::Device& other,
                                    kernel::Compiler& compiler, int tiles, std::uint64_t seed);

// Which element of a matrix each register of each lane holds after wmma.load, which the PTX ISA
// leaves open: the matrix is filled with the places of its own elements and the registers are
// written out. One row a form: its instruction and, a register, the 32 lanes' contents (of packed
// elements, the lowest first).
nlohmann::ordered_json wmma_layouts(device::Device& device, kernel::Compiler& compiler);

// Throws MachineError with what the device says.
inline void need(const std::expected<void, device::Fault>& outcome) {
  if (!outcome) throw MachineError(outcome.error().message);
}

}  // namespace fa_tune::bench
