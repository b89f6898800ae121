#pragma once

#include <cstdint>
#include <optional>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// What kind of work a machine instruction is.
enum class SassKind : std::uint8_t {
  fma,        // f32 multiply and add
  imad,       // integer multiply and add, of which moves are made too
  imad_wide,  // with a 64-bit result
  alu,
  float_alu,  // a maximum or minimum of floats
  elect,      // of a lane that goes on alone
  half,
  special,
  convert,  // packing of two floats as 16 or 8 bits
  fp64,
  tensor,
  wgmma,
  wgmma_sync,
  wgmma_wait,  // for products
  shared,
  shuffle,      // between lanes, by the same pipe
  local,        // loads of spills and arrays
  local_write,  // stores of them
  global,
  async_copy,
  async_commit,
  async_wait,
  mbarrier,
  bulk,
  bulk_commit,
  barrier,
  fence,
  device_fence,  // beyond the CTA
  uniform,       // a value for all lanes
  constant,      // from the constant bank or a special register
  branch,
  call,
  exit,
  nop,
  other,
};

// A machine instruction of sm_80 to sm_90, as far as a time needs it. NVIDIA publishes no encoding.
// The fields of the control code are as Jia et al. found them ("Dissecting the NVIDIA Volta GPU
// Architecture via Microbenchmarking", 2018, section 2.1): from bit 105 on 4 bits stall count, 1
// yield, 3 write barrier, 3 read barrier, 6 barriers to wait for. Opcodes are the low 9 bits, and
// their names what nvdisasm prints for them; a test holds the table to it where it is installed.
struct SassInstruction {
  const char* name = "";  // "" : unknown, and `kind` is other
  SassKind kind = SassKind::other;
  std::uint8_t stall = 0;            // clocks until the warp may issue its next
  std::uint8_t write_barrier = 7;    // that its result releases; 7: none
  std::uint8_t read_barrier = 7;     // that is released when it has read its operands; 7: none
  std::uint8_t waits = 0;            // barriers that must be released first, a bit each
  std::uint8_t bytes = 0;            // a lane, that LDS, STS, LDL or STL moves
  std::uint8_t depth = 0;            // groups of products that a wait leaves under way
  std::uint8_t rejoin = 0;           // clocks beyond its stall count, where lanes meet again
  std::uint8_t rejoin_elected = 0;   // instead of that, where one lane comes from a way of its own
  std::optional<std::int64_t> jump;  // of a branch or a call: bytes from its own end
};

std::uint16_t opcode_of(const EncodedInstruction& instruction);
// `sm`: 80, 86, 89 or 90.
SassInstruction decode_sass(const EncodedInstruction& instruction, int sm);

}  // namespace fa_tune::emulator
