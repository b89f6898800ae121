#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

// What executes an instruction. All but `memory`, which serves shared memory, L1 and exchanges
// between lanes, are there once in each of an SM's four partitions.
enum class Unit : std::uint8_t {
  fma,
  alu,
  half,
  special,
  tensor,
  memory,
  control,
  count,
};
inline constexpr std::size_t kUnitCount = static_cast<std::size_t>(Unit::count);
const char* name_of(Unit unit);

// What an instruction does beyond keeping its unit busy.
enum class Role : std::uint8_t {
  plain,
  shared,        // wavefronts in shared memory
  global_read,   // sectors that its result waits for
  global_write,  // sectors that nothing waits for
  async_copy,
  async_commit,
  async_wait,
  traced,  // mbarriers and bulk copies: what they do is in the trace's events
  bulk_commit,
  bulk_wait,
  cluster_wait,
  tensor_async,
  tensor_commit,
  tensor_wait,
  barrier,
};

// What the machine is believed to do for one PTX instruction: its cost on one SM.
struct Cost {
  Unit unit = Unit::control;
  Role role = Role::plain;
  bool either = false;  // simple integer work, which ptxas gives to the fma pipe too
  double issues = 1;    // issue slots; 0: ptxas leaves nothing of it
  double busy = 0;      // clocks of its unit; of memory: a wavefront
  double latency = 0;   // clocks from issue until its result can be used, without waiting for units
  // Groups that a wait leaves under way, -1: none, not even what is not committed. Of a barrier:
  // warps that it joins, 0: all of the CTA.
  int depth = 0;
  std::uint8_t barrier = 0;  // number of the barrier
  bool waits = true;         // at the barrier: false for those that only arrive
  bool reads_only = false;   // a wait for bulk groups: until their sources have been read
};

// The cost of every instruction of a program, as ptxas may be expected to translate it: which ones
// vanish is said at the top of ptx_cost.cpp. Rates and latencies come from the profile.
std::vector<Cost> translate(const Program& program, const DeviceProfile& profile);

// One instruction of a block in the order that ptxas may be expected to give it.
struct Step {
  std::uint32_t op = 0;            // of Program::ops
  std::uint32_t inputs_begin = 0;  // in MachineBlock::inputs
  std::uint32_t inputs_end = 0;
};

// Straight code: entered at its first instruction, left at its last. An input is the number of a
// step of the block if it is not negative, else ~n: the n-th of the values that live across blocks.
struct MachineBlock {
  std::uint32_t begin = 0;  // of Program::ops
  std::uint32_t end = 0;
  std::vector<Step> steps;
  std::vector<std::int32_t> inputs;
  struct Output {
    std::uint32_t step = 0;
    std::uint32_t value = 0;
  };
  std::vector<Output> outputs;  // last writers of values that live across blocks
};

// A program as the simulated SM runs it.
struct MachineCode {
  std::vector<Cost> costs;  // by instruction of the program
  std::vector<MachineBlock> blocks;
  std::vector<std::uint32_t> block_of;  // by instruction
  std::uint32_t live_values = 0;
};

MachineCode make_machine_code(const Program& program, const DeviceProfile& profile);

}  // namespace fa_tune::emulator
