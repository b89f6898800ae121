#include "engine/device/emulator/timing/simulated_warp.hpp"

#include <algorithm>

namespace fa_tune::emulator {
namespace {

// Lines of a loop that is so short that what a jump back leads to is still at hand. Assumed.
constexpr std::uint32_t kShortLoop = 16;

// Whether a branch leads there. PTX's blocks are mixed in a basic block of machine code; and one without
// instructions of its own is in none.
bool leads_to(const MachineBlock::Place& from, const MachineBlock::Place& to, bool again) {
  if (from.basic_block == MachineBlock::Place::kUnknown) return false;
  const bool is_same = from.basic_block == to.basic_block;
  if (to.line + kShortLoop < from.line) return again || !is_same;
  return to.line > from.line && !is_same && from.basic_block + 1 != to.basic_block;
}

}  // namespace

void SimulatedWarp::begin_trace(const WarpTrace& of, double at_time) {
  trace = &of;
  range = 0;
  at = of.ranges.empty() ? 0 : of.ranges[0].begin;
  block = nullptr;
  ready = false;
  issued = at_time;
  free = at_time;
  next = at_time;
  stored = 0;
  copies = {};
  bulk_reads = {};
  bulk_writes = {};
  event = 0;
  parked = false;
  cluster_round = 0;
  barriers = {};
  came_from = {};
  jumped = false;
  passed_ = 0;
  begin = end = 0;
  std::fill(live.begin(), live.end(), Result{});
}

double SimulatedWarp::instructions_left() const {
  double left = 0;
  for (std::size_t i = range; i < trace->ranges.size(); ++i) {
    left += trace->ranges[i].end - (i == range ? at : trace->ranges[i].begin);
  }
  return left;
}

bool SimulatedWarp::enter_block(const MachineCode& code) {
  if (block != nullptr) {
    for (const MachineBlock::Output& output : block->outputs) {
      const std::uint32_t op = block->steps[output.step].op;
      if (op >= begin && op < end) live[output.value] = done[output.step];
    }
  }
  const auto& ranges = trace->ranges;
  while (range < ranges.size() && at == ranges[range].end) {
    ++range;
    if (range < ranges.size()) at = ranges[range].begin;
  }
  if (range >= ranges.size()) return false;
  const bool was_machine = block != nullptr && !block->steps.empty() && block->steps[0].is_machine;
  const MachineBlock* const before = block;
  block = &code.blocks[code.block_of[at]];
  if (block->first.basic_block != MachineBlock::Place::kUnknown) {
    jumped = leads_to(came_from, block->first, block == before);
    came_from = block->last;
  }
  const auto& rounds = block->rounds;
  round_ = block == before && !rounds.empty() ? (round_ + 1) % rounds.size() : 0;
  // Which barrier a value of the PTX would wait for is not known.
  if (was_machine && !block->steps.empty() && !block->steps[0].is_machine)
    for (const Result& barrier : barriers) free = std::max(free, barrier.at);
  passed_ += end - begin;
  begin = at;
  end = std::min(block->end, ranges[range].end);
  at = end;
  step = round_ == 0 ? 0 : rounds[round_ - 1];
  last_ = rounds.empty() ? block->steps.size() : rounds[round_];
  if (done.size() < block->steps.size()) done.resize(block->steps.size());
  return true;
}

std::span<const AsyncEvent> SimulatedWarp::events() {
  const auto& all = trace->events;
  const std::uint32_t own = passed_ + (block->steps[step].op - begin);
  while (event < all.size() && all[event].at < own) ++event;
  const std::size_t first = event;
  while (event < all.size() && all[event].at == own) ++event;
  return std::span(all).subspan(first, event - first);
}

SimulatedWarp::Meeting SimulatedWarp::meeting(const Cost& cost) {
  Meeting meeting{cost.barrier, static_cast<std::size_t>(std::max(cost.depth, 0)), cost.waits};
  for (const AsyncEvent& each : events()) {
    if (each.kind != AsyncEvent::Kind::barrier) continue;
    meeting.barrier = each.phase;
    meeting.warps = each.bytes;
  }
  return meeting;
}

bool SimulatedWarp::find_next(const MachineCode& code) {
  for (;;) {
    while (block == nullptr || step == last_) {
      if (!enter_block(code)) return false;
    }
    const Step& candidate = block->steps[step];
    if (candidate.place < begin || candidate.place >= end) {
      done[step++] = {};
      continue;
    }
    Result latest;
    if (candidate.is_machine) {
      for (std::uint8_t i = 0; i < kBarriers; ++i)
        if ((candidate.waits >> i & 1U) != 0 && barriers[i].at > latest.at) latest = barriers[i];
      input = latest;
      next = std::max(free, latest.at);
      return true;
    }
    for (std::uint32_t i = candidate.inputs_begin; i < candidate.inputs_end; ++i) {
      const std::int32_t from = block->inputs[i];
      const std::int32_t kept = ~from;
      const Result& result =
          from >= 0 ? done[static_cast<std::size_t>(from)] : live[static_cast<std::size_t>(kept)];
      if (result.at > latest.at) latest = result;
    }
    if (code.costs[candidate.cost].issues > 0) {
      input = latest;
      next = std::max(free, latest.at);
      return true;
    }
    done[step++] = latest;
  }
}

}  // namespace fa_tune::emulator
