#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

namespace fa_tune::test {

inline constexpr std::uint64_t kFfma = 0x223;
inline constexpr std::uint64_t kMufu = 0x308;
inline constexpr std::uint64_t kStg = 0x986;
inline constexpr std::uint64_t kLdl = 0x983;
inline constexpr std::uint64_t kStl = 0x387;
inline constexpr std::uint64_t kLds = 0x984;
inline constexpr std::uint64_t kSts = 0x388;
inline constexpr std::uint64_t kBra = 0x947;
inline constexpr std::uint64_t kExit = 0x94d;
inline constexpr std::uint64_t kRet = 0x950;

struct Control {
  unsigned stall = 1;
  unsigned write_barrier = 7;
  unsigned waits = 0;
};

// Bits 16 and up of the low half are left for a branch's target.
inline emulator::EncodedInstruction machine(std::uint64_t opcode, std::uint32_t line,
                                            Control control = {}) {
  const std::uint64_t bits = control.stall | std::uint64_t{control.write_barrier} << 5U | 7U << 8U |
                             std::uint64_t{control.waits} << 11U;
  return {opcode | 7U << 12U, bits << 41U, line};
}

// A kernel whose PTX has run, to be given machine code.
struct Coded : CountedRun {
  explicit Coded(const std::string& body, emulator::TensorRule rule = emulator::TensorRule::ampere,
                 std::uint32_t threads = 32)
      : CountedRun(".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n" + body,
                   rule, threads, 1) {}

  // The line of the only instruction with that opcode.
  std::uint32_t line(const std::string& opcode) const {
    std::uint32_t found = 0;
    for (const emulator::Op& op : program.ops)
      if (program.names[op.name] == opcode) found = op.line;
    REQUIRE(found > 0);
    return found;
  }
  emulator::MachineCode code(std::vector<emulator::EncodedInstruction> instructions) {
    program.machine_code = std::move(instructions);
    return emulator::make_machine_code(program, profile, record);
  }
  emulator::SmTime time(std::vector<emulator::EncodedInstruction> instructions,
                        const emulator::SmWork& work = {}) {
    return emulator::simulate_sm(code(std::move(instructions)), record, profile, work);
  }
  double clocks(std::vector<emulator::EncodedInstruction> instructions) {
    return time(std::move(instructions)).clocks;
  }

  emulator::DeviceProfile profile = test::small_profile();
};

inline const std::string kExp = "ex2.approx.ftz.f32 %f1, %f2;\nfma.rn.f32 %f3, %f1, %f1, %f2;\n";

}  // namespace fa_tune::test
