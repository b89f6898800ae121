#include "engine/device/emulator/exec/named_barriers.hpp"

#include <bit>

#include <fmt/format.h>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"

// bar and barrier. Op fields: m[0]: 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or; m[1]: the
// predicate of red is negated; m[2]: aligned; r[0]: result of red; r[1]: barrier; r[2]: threads or
// none; r[3]: predicate of red.

namespace fa_tune::emulator {

void NamedBarriers::arrive(Warp& warp, std::size_t chosen, const Op& op) {
  DivergentPath& path = warp.paths[chosen];
  const int lane = std::countr_zero(path.mask);
  const std::uint32_t id = slot(warp, op.r[1])[lane];
  if (id >= barriers_.size()) {
    cta_.report(DiagnosticKind::barrier, warp, op, lane, fmt::format("there is no barrier {}", id));
    return;
  }
  Barrier& barrier = barriers_[id];
  std::uint32_t expected = op.r[2] == kNoOperand ? 0 : slot(warp, op.r[2])[lane];
  if (expected % kWarpSize != 0) {
    cta_.report(DiagnosticKind::barrier, warp, op, lane,
                fmt::format("{} threads at a barrier: not a multiple of a warp", expected));
    return;
  }
  if (expected > cta_.warps().size() * kWarpSize) {
    cta_.report(DiagnosticKind::barrier, warp, op, lane,
                fmt::format("waits for {} threads at barrier {}; the block has {}", expected, id,
                            cta_.context().config.block.count()));
    return;
  }
  // Without a number all threads of the block take part, whole warps: one that names as many is the
  // same (PTX ISA, bar).
  const auto whole = static_cast<std::uint32_t>(cta_.warps().size() * kWarpSize);
  if (barrier.in_use && barrier.expected + expected == whole &&
      (barrier.expected == 0 || expected == 0)) {
    barrier.expected = whole;
    expected = whole;
  }
  if (barrier.in_use && barrier.expected != expected) {
    cta_.report(DiagnosticKind::barrier, warp, op, lane,
                fmt::format("barrier {} waits for {} threads and this one expects {}", id,
                            barrier.expected, expected));
    return;
  }
  if (Counters* counters = cta_.counters()) counters->barriers += 1;
  if (Record* record = cta_.record(); record != nullptr && (op.r[1] & kConstantBit) == 0)
    record->join_barrier(cta_.rank(), warp.index, id, expected / kWarpSize);
  if (Sanitizer* sanitizer = cta_.sanitizer()) sanitizer->arrive(warp, path.mask, id, op.m[0] != 1);
  barrier.in_use = true;
  barrier.expected = expected;
  // An aligned barrier counts whole warps, also a last one that is not full.
  barrier.arrived +=
      op.m[2] != 0 ? kWarpSize : static_cast<std::uint32_t>(std::popcount(path.mask));
  if (expected != 0 && barrier.arrived > expected) {
    cta_.report(DiagnosticKind::barrier, warp, op, lane,
                fmt::format("{} threads have come to barrier {}, which waits for {}",
                            barrier.arrived, id, expected));
    return;
  }
  if (op.m[0] >= 2) {
    const std::uint32_t word = warp.predicates[op.r[3]];
    const std::uint32_t holds = (op.m[1] != 0 ? ~word : word) & path.mask;
    barrier.votes += static_cast<std::uint32_t>(std::popcount(holds));
    barrier.voters += static_cast<std::uint32_t>(std::popcount(path.mask));
  }
  if (op.m[0] == 1) {
    path.pc += 1;
  } else {
    path.state = DivergentPath::State::at_barrier;
    path.barrier = static_cast<std::uint8_t>(id);
  }
  complete();
}

void NamedBarriers::complete() {
  for (std::size_t i = 0; i < barriers_.size(); ++i) {
    const auto id = static_cast<std::uint8_t>(i);
    const Barrier& barrier = barriers_[id];
    if (!barrier.in_use) continue;
    if (barrier.expected != 0) {
      if (barrier.arrived >= barrier.expected) release(id);
      continue;
    }
    bool all_here = true;
    for (const Warp& warp : cta_.warps()) {
      std::uint32_t waiting = 0;
      for (const DivergentPath& path : warp.paths) {
        if (path.state == DivergentPath::State::at_barrier && path.barrier == id)
          waiting |= path.mask;
      }
      all_here &= waiting == warp.live;
    }
    if (all_here) release(id);
  }
}

void NamedBarriers::release(std::uint8_t id) {
  Sanitizer* const sanitizer = cta_.sanitizer();
  const Barrier barrier = barriers_[id];
  barriers_[id] = {};
  for (Warp& warp : cta_.warps()) {
    for (DivergentPath& path : warp.paths) {
      if (path.state != DivergentPath::State::at_barrier || path.barrier != id) continue;
      const Op& op = cta_.context().program->ops[path.pc];
      if (op.m[0] == 2) {
        std::uint32_t* out = target_slot(warp, op.r[0]);
        for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
          if ((path.mask >> lane & 1U) != 0) out[lane] = barrier.votes;
        }
      } else if (op.m[0] > 2) {
        const bool holds = op.m[0] == 3 ? barrier.votes == barrier.voters : barrier.votes != 0;
        std::uint32_t& word = warp.predicates[op.r[0]];
        word = holds ? word | path.mask : word & ~path.mask;
      }
      path.state = DivergentPath::State::ready;
      path.pc += 1;
      if (sanitizer != nullptr) sanitizer->leave(warp, path.mask, id);
    }
  }
  if (sanitizer != nullptr) sanitizer->reopen(cta_, id);
}

}  // namespace fa_tune::emulator
