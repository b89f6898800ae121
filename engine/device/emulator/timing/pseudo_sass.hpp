#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/record.hpp"

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
  local,         // loads what ptxas spilled; of the machine code alone
  local_write,   // stores it
  global_read,   // sectors that its result waits for
  global_write,  // sectors that nothing waits for
  async_copy,
  async_commit,
  async_wait,
  traced,  // mbarriers and bulk copies: what they do is in the trace's events
  bulk_commit,
  bulk_wait,
  device_fence,  // its warp waits until what it has stored is seen by the whole device
  cluster_arrive,
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
  bool either = false;     // simple integer work, which ptxas gives to the fma pipe too
  bool of_floats = false;  // of the alu: a maximum or minimum of them
  double issues = 1;       // issue slots; 0: ptxas leaves nothing of it
  double busy = 0;         // clocks of its unit; of memory: a wavefront
  // Of a warpgroup's product: clocks of shared memory, a warp's quarter of them.
  double operands = 0;
  double latency = 0;  // clocks from issue until its result can be used, without waiting for units
  // Groups that a wait leaves under way, -1: none, not even what is not committed. Of a barrier:
  // warps that it joins, 0: all of the CTA.
  int depth = 0;
  std::uint8_t barrier = 0;     // number of the barrier
  bool waits = true;            // at the barrier: false for those that only arrive
  bool a_in_registers = false;  // of a warpgroup's product
  bool reads_only = false;      // a wait for bulk groups: until their sources have been read

  // Clocks until its unit takes the next one. A product goes no faster than its operands come.
  double holds_unit() const { return std::max(busy, kPartitions * operands); }
};

// The cost of every instruction of a program, as ptxas may be expected to translate it: which ones
// vanish is said at the top of ptx_cost.cpp. Rates and latencies come from the profile.
std::vector<Cost> translate(const Program& program, const DeviceProfile& profile);
// What each costs by itself: nothing vanishes.
std::vector<Cost> translate_each(const Program& program, const DeviceProfile& profile);

inline constexpr std::uint8_t kBarriers = 6;  // that a warp's machine code waits for results with

// One instruction of a block: one of the machine code, or one of the PTX in the order that ptxas
// may be expected to give it.
struct Step {
  std::uint32_t op = 0;            // of Program::ops
  std::uint32_t place = 0;         // that op of the block which it comes with
  std::uint32_t cost = 0;          // of MachineCode::costs
  std::uint32_t inputs_begin = 0;  // in MachineBlock::inputs; of the PTX alone
  std::uint32_t inputs_end = 0;
  // Of the machine code alone: its control code (sass.hpp).
  bool is_machine = false;
  bool acts = true;  // does what `op` does; false: it takes time alone
  std::uint8_t stall = 0;
  std::uint8_t write_barrier = kBarriers;
  std::uint8_t read_barrier = kBarriers;
  std::uint8_t waits = 0;
  // Of what one execution of `op` moves; of an access to local memory: words of a lane.
  float share = 1;
  std::uint32_t line = 0;  // of the code, that holds it (instruction_cache.hpp)
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
  // Of a loop that ptxas unrolled: where the steps of each round end. Executions in a row have one
  // after the other. Empty: every execution has all steps.
  std::vector<std::uint32_t> rounds;
  // Where the machine code of its steps begins and ends. Known of code with products of warpgroups.
  struct Place {
    static constexpr std::uint32_t kUnknown = ~0U;
    std::uint32_t basic_block = kUnknown;  // of the machine code
    std::uint32_t line = 0;                // instruction_cache.hpp
  };
  Place first;
  Place last;
};

// A program as the simulated SM runs it.
struct MachineCode {
  std::vector<Cost> costs;  // by instruction of the program; behind them others that steps name
  std::vector<MachineBlock> blocks;
  std::vector<std::uint32_t> block_of;  // by instruction
  std::uint32_t live_values = 0;
  bool has_warpgroup_products = false;  // wgmma
  // Of the PTX instructions that ran, those whose machine code is known; and of the first others,
  // why not. Empty: it is known of all, or the program has none.
  double machine_share = 0;
  std::string unmatched;
};

// From the PTX, and from what ptxas made of it where the program has that.
MachineCode make_machine_code(const Program& program, const DeviceProfile& profile,
                              const Record& record);

// By line of the code, whether something of it was executed.
std::vector<bool> lines_that_run(const MachineCode& code, const Record& record);

}  // namespace fa_tune::emulator
