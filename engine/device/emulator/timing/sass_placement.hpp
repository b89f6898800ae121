#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/sass_steps.hpp"

namespace fa_tune::emulator {

// Two blocks that run about as often as each other run together: lanes that part, and the first and
// last times round a loop, make small differences.
inline constexpr double kRunsAbout = 1.25;

// A basic block of the machine code.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::map<std::uint32_t, int> votes;  // instructions by the block of PTX they were made from
};

// Whether it does the work of the PTX instruction that it was made from. `costs`: of each of those.
bool carries(const MatchedInstruction& instruction, std::span<const Cost> costs);

// Which block of PTX each machine instruction runs with: its own if that runs as often as the host,
// the host otherwise. Then ptxas took it out of a loop, or runs it under a predicate. What waits,
// arrives or moves data runs when the trace says so, unless it was taken out of a loop.
//
// Blocks run one after the other, and ptxas mixes those of a stretch. It may put an arrival at a
// barrier behind instructions of the blocks that follow: those run with the arrival's block then. Or a
// warpgroup would pass its turn on before its row maxima, and not behind them.
class Placement {
 public:
  // All outlive this. `block_of`: blocks by op; `runs`: by block.
  Placement(const std::vector<MatchedInstruction>& instructions,
            const std::vector<Stretch>& stretches, const std::vector<std::uint32_t>& block_of,
            const std::vector<Cost>& costs, const std::vector<double>& runs)
      : instructions_(instructions),
        stretches_(stretches),
        block_of_(block_of),
        costs_(costs),
        runs_(runs) {}

  // Machine instructions by block of PTX, in their order.
  std::vector<std::vector<std::uint32_t>> by_block() const;

 private:
  std::uint32_t block_for(const MatchedInstruction& instruction) const;
  bool run_together(std::uint32_t block, std::uint32_t other) const;
  void put_before_arrivals(const Stretch& stretch, std::vector<std::uint32_t>& blocks) const;

  const std::vector<MatchedInstruction>& instructions_;
  const std::vector<Stretch>& stretches_;
  const std::vector<std::uint32_t>& block_of_;
  const std::vector<Cost>& costs_;
  const std::vector<double>& runs_;
};

}  // namespace fa_tune::emulator
