#include "engine/device/emulator/timing/sass_placement.hpp"

#include <algorithm>
#include <set>

#include "engine/device/emulator/timing/sass_cost.hpp"

namespace fa_tune::emulator {
namespace {

// Others may go on when it is done. What is traced is not told apart: tests of mbarriers and bulk copies
// count too.
bool is_arrival(const Cost& cost) {
  return cost.role == Role::traced || (cost.role == Role::barrier && !cost.waits);
}

}  // namespace

bool carries(const MatchedInstruction& instruction, std::span<const Cost> costs) {
  return instruction.op != MatchedInstruction::kNone &&
         carrier_of(costs[instruction.op]).has(instruction.sass.kind);
}

std::vector<std::vector<std::uint32_t>> Placement::by_block() const {
  std::vector<std::uint32_t> blocks;
  for (const MatchedInstruction& each : instructions_) blocks.push_back(block_for(each));
  for (const Stretch& stretch : stretches_) put_before_arrivals(stretch, blocks);
  std::vector<std::vector<std::uint32_t>> placed(runs_.size());
  for (std::uint32_t i = 0; i < blocks.size(); ++i)
    if (blocks[i] != MatchedInstruction::kNone) placed[blocks[i]].push_back(i);
  return placed;
}

std::uint32_t Placement::block_for(const MatchedInstruction& instruction) const {
  const std::uint32_t host = instruction.host;
  if (host == MatchedInstruction::kNone || instruction.op == MatchedInstruction::kNone) return host;
  const std::uint32_t own = block_of_[instruction.op];
  const bool hoisted = runs_[own] > kRunsAbout * runs_[host];
  const bool acts = carries(instruction, costs_) && (!hoisted || in_order(costs_[instruction.op]));
  return run_together(own, host) || acts ? own : host;
}

bool Placement::run_together(std::uint32_t block, std::uint32_t other) const {
  return runs_[block] <= kRunsAbout * runs_[other] && runs_[other] <= kRunsAbout * runs_[block];
}

void Placement::put_before_arrivals(const Stretch& stretch,
                                    std::vector<std::uint32_t>& blocks) const {
  std::map<std::uint32_t, std::vector<std::size_t>> places;  // by block
  std::set<std::uint32_t> fixed;  // something of them must be found there
  for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
    if (blocks[i] == MatchedInstruction::kNone) continue;
    places[blocks[i]].push_back(i);
    const MatchedInstruction& each = instructions_[i];
    if (carries(each, costs_) && !in_order(costs_[each.op]) && carrier_of(costs_[each.op]).wanted)
      fixed.insert(blocks[i]);
  }
  // A loop's end and its beginning may be one stretch: there a later block comes first.
  const auto comes_first = [&](std::uint32_t block, std::uint32_t other) {
    const auto& own = places.at(block);
    const auto& others = places.at(other);
    return block < other && own[own.size() / 2] < others[others.size() / 2];
  };
  std::set<std::uint32_t> arriving;  // blocks of arrivals further on
  for (std::size_t i = stretch.end; i-- > stretch.begin;) {
    const std::uint32_t own = blocks[i];
    if (own == MatchedInstruction::kNone) continue;
    const MatchedInstruction& each = instructions_[i];
    if (carries(each, costs_) && in_order(costs_[each.op])) {
      if (is_arrival(costs_[each.op])) arriving.insert(own);
      continue;
    }
    if (fixed.contains(own)) continue;
    const auto before = std::ranges::find_if(arriving, [&](std::uint32_t block) {
      return comes_first(block, own) && run_together(block, own);
    });
    if (before != arriving.end()) blocks[i] = *before;
  }
}

}  // namespace fa_tune::emulator
