#include "engine/device/emulator/timing/simulated_warp.hpp"

#include <algorithm>

namespace fa_tune::emulator {

void SimulatedWarp::begin_trace(const WarpTrace& of, double at_time) {
  trace = &of;
  stretch = 0;
  at = of.stretches.empty() ? 0 : of.stretches[0].begin;
  block = nullptr;
  ready = false;
  free = at_time;
  next = at_time;
  copies = {};
  products = {};
  std::fill(live.begin(), live.end(), Result{});
}

double SimulatedWarp::instructions_left() const {
  double left = 0;
  for (std::size_t i = stretch; i < trace->stretches.size(); ++i) {
    left += trace->stretches[i].end - (i == stretch ? at : trace->stretches[i].begin);
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
  const auto& stretches = trace->stretches;
  while (stretch < stretches.size() && at == stretches[stretch].end) {
    ++stretch;
    if (stretch < stretches.size()) at = stretches[stretch].begin;
  }
  if (stretch >= stretches.size()) return false;
  block = &code.blocks[code.block_of[at]];
  begin = at;
  end = std::min(block->end, stretches[stretch].end);
  at = end;
  step = 0;
  if (done.size() < block->steps.size()) done.resize(block->steps.size());
  return true;
}

bool SimulatedWarp::find_next(const MachineCode& code) {
  for (;;) {
    if (block == nullptr || step == block->steps.size()) {
      if (!enter_block(code)) return false;
    }
    const Step& candidate = block->steps[step];
    if (candidate.op < begin || candidate.op >= end) {
      done[step++] = {};
      continue;
    }
    Result latest;
    for (std::uint32_t i = candidate.inputs_begin; i < candidate.inputs_end; ++i) {
      const std::int32_t from = block->inputs[i];
      const std::int32_t kept = ~from;
      const Result& result =
          from >= 0 ? done[static_cast<std::size_t>(from)] : live[static_cast<std::size_t>(kept)];
      if (result.at > latest.at) latest = result;
    }
    if (code.costs[candidate.op].issues > 0) {
      input = latest;
      next = std::max(free, latest.at);
      return true;
    }
    done[step++] = latest;
  }
}

}  // namespace fa_tune::emulator
