#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/sass.hpp"

namespace fa_tune::emulator {

// A machine instruction beside the program.
struct MatchedInstruction {
  static constexpr std::uint32_t kNone = ~0U;

  SassInstruction sass;
  std::uint32_t op = kNone;    // of the program, that it was made from
  std::uint32_t host = kNone;  // block of PTX that its own block stands for
};

// Machine instructions by the PTX instruction whose work they do, in their order.
using Carriers = std::map<std::uint32_t, std::vector<std::uint32_t>>;

// Rounds of a loop that ptxas unrolled, which follow each other in the machine code.
struct UnrolledRounds {
  std::size_t count = 0;
  std::vector<std::uint32_t> instructions;
  Carriers carriers;  // of the loop's own instructions
};

// Writes steps of machine instructions into blocks, in place of those that a block has.
class StepWriter {
 public:
  // All outlive this. `costs`: of each PTX instruction by itself.
  StepWriter(const Program& program, const DeviceProfile& profile, const Record& record,
             MachineCode& code, const std::vector<Cost>& costs,
             const std::vector<MatchedInstruction>& instructions)
      : program_(program),
        profile_(profile),
        record_(record),
        code_(code),
        costs_(costs),
        instructions_(instructions) {}

  // Those that run with the block. `carriers` of them; `carried`: PTX instructions that there are
  // carriers of anywhere.
  void write(MachineBlock& block, const std::vector<std::uint32_t>& placed,
             const Carriers& carriers, const std::vector<bool>& carried);
  // A loop's: each execution of the block has the steps of one round, an equal part of all of them.
  // Nothing of it happens in order.
  void write(MachineBlock& block, const UnrolledRounds& rounds);

 private:
  using Acts = std::map<std::uint32_t, std::uint32_t>;  // op by machine instruction that does it

  void begin(MachineBlock& block);
  // Moves `place` on to the PTX instruction that it was made from. What it does, if it does anything,
  // is for act() to say.
  Step step_of(const MachineBlock& block, std::uint32_t instruction, const Acts& acts,
               std::uint32_t& place);
  // Does `part` of what an execution of `op` does.
  void act(Step& step, SassKind kind, std::uint32_t op, double part);
  // `cost` of a test of an mbarrier, with the latency that other blocks' instructions do not hide: they
  // stand between `instruction` and what waits for its answer, and run with their own block.
  std::uint32_t test_cost(Cost cost, std::uint32_t instruction,
                          const std::vector<std::uint32_t>& placed);
  // What each machine instruction that loads from shared memory, or stores, has of the wavefronts of
  // its PTX instruction. ptxas makes one wide access of several and names one of them. `rounds`: that
  // the machine instructions are of; `carried` as in write().
  std::map<std::uint32_t, double> shares_of_shared(const MachineBlock& block,
                                                   const Carriers& carriers, std::size_t rounds,
                                                   const std::vector<bool>& carried) const;
  bool is_store(std::uint32_t op) const;
  // That a lane moves.
  std::uint32_t bytes_of(std::uint32_t op) const;
  std::uint32_t add_cost(const Cost& cost);
  std::uint32_t plain_cost(SassKind kind);
  std::uint32_t added_wait(const SassInstruction& sass);

  const Program& program_;
  const DeviceProfile& profile_;
  const Record& record_;
  MachineCode& code_;
  const std::vector<Cost>& costs_;
  const std::vector<MatchedInstruction>& instructions_;
  std::array<std::uint32_t, static_cast<std::size_t>(SassKind::other) + 1> plain_{};
};

}  // namespace fa_tune::emulator
