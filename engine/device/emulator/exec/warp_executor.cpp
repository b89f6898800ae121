#include "engine/device/emulator/exec/warp_executor.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "engine/device/emulator/matrix/matrix_ops.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// How a warp executes. Lanes that diverge become paths. The path that is furthest behind in the
// text goes first, so that lanes reconverge at the earliest instruction. A path that uses up its
// slice without joining another yields, or a lane that waits for its neighbour would spin forever.

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t kSlice = 4096;  // instructions of a path while its warp is diverged

std::uint32_t guarded(const Warp& warp, const Op& op, std::uint32_t mask) {
  const std::uint32_t guard = warp.predicates[op.guard];
  return mask & (op.guard_negated ? ~guard : guard);
}

// The nearest pc ahead of the chosen path at which another one can be joined. Inlined it would take
// a register from the loop of run_path.
[[gnu::noinline]] std::uint32_t next_reconvergence(const Warp& warp, std::size_t chosen) {
  std::uint32_t nearest = ~0U;
  const std::uint32_t pc = warp.paths[chosen].pc;
  for (std::size_t i = 0; i < warp.paths.size(); ++i) {
    const DivergentPath& other = warp.paths[i];
    if (i == chosen || !other.can_join() || other.pc <= pc) continue;
    nearest = std::min(nearest, other.pc);
  }
  return nearest;
}

// Whether every lane names all lanes as members: the common case, in a loop that becomes vector
// code.
bool all_name_all(const std::uint32_t* masks) {
  std::uint32_t named_by_all = kFullMask;
  for (int lane = 0; lane < kWarpSize; ++lane) named_by_all &= masks[lane];
  return named_by_all == kFullMask;
}

// Joins paths of equal pc with `chosen`; true if there was one.
bool merge_paths(Warp& warp, std::size_t chosen) {
  bool merged = false;
  for (std::size_t i = 0; i < warp.paths.size(); ++i) {
    DivergentPath& other = warp.paths[i];
    if (i == chosen || !other.can_join() || other.pc != warp.paths[chosen].pc) {
      continue;
    }
    warp.paths[chosen].mask |= other.mask;
    other.mask = 0;
    merged = true;
  }
  if (merged) {
    warp.paths[chosen].state = DivergentPath::State::ready;
    std::erase_if(warp.paths, [](const DivergentPath& path) { return path.mask == 0; });
    warp.slices = 0;
  }
  return merged;
}

}  // namespace

int choose_path(const Warp& warp) {
  int ready = 0;
  for (const DivergentPath& path : warp.paths)
    ready += path.state == DivergentPath::State::ready ? 1 : 0;
  if (ready == 0) return -1;
  // Number `rank` of the ready ones by pc.
  const auto rank = static_cast<int>(warp.slices % static_cast<std::uint32_t>(ready));
  for (std::size_t i = 0; i < warp.paths.size(); ++i) {
    if (warp.paths[i].state != DivergentPath::State::ready) continue;
    int before = 0;
    for (std::size_t j = 0; j < warp.paths.size(); ++j) {
      if (warp.paths[j].state != DivergentPath::State::ready) continue;
      const bool earlier =
          warp.paths[j].pc < warp.paths[i].pc || (warp.paths[j].pc == warp.paths[i].pc && j < i);
      before += earlier ? 1 : 0;
    }
    if (before == rank) return static_cast<int>(i);
  }
  return -1;
}

WarpExecutor::WarpExecutor(Cta& cta)
    : cta_(cta),
      cluster_(cta.cluster()),
      context_(cta.context()),
      sanitizer_(cta.sanitizer()),
      barriers_(cta) {}

void WarpExecutor::start() {
  record_ = cta_.record();
  barriers_.clear();
}

bool WarpExecutor::run_warp(Warp& warp, std::uint64_t turn) {
  turn_over_ = false;
  warp.polls.begin_turn();
  const std::uint64_t begin = cta_.executed();
  if (record_ != nullptr) {
    take_turn<true>(warp, turn);
  } else {
    take_turn<false>(warp, turn);
  }
  const bool waited = warp.polls.end_turn(cta_.executed() - begin);
  return !turn_over_ && !waited;
}

template <bool Counting>
void WarpExecutor::take_turn(Warp& warp, std::uint64_t turn) {
  const std::uint64_t begin = cta_.executed();
  while (!cluster_.has_failed() && !turn_over_ && !warp.polls.turn_is_over() &&
         cta_.executed() - begin < turn) {
    const int chosen = choose_path(warp);
    if (chosen < 0) return;
    if (merge_paths(warp, static_cast<std::size_t>(chosen))) continue;
    const auto which = static_cast<std::size_t>(chosen);
    const std::uint64_t left = turn - (cta_.executed() - begin);
    const bool watching = warp.undefined || !warp.flight.operations.empty() ||
                          (context_.checks.sync && !context_.program->wgmma.empty());
    if (watching) {
      run_path<Counting, true>(warp, which, left);
    } else {
      run_path<Counting, false>(warp, which, left);
    }
    if (warp.paths.size() < 2) {
      warp.slice_begin = cta_.executed();
    } else if (cta_.executed() - warp.slice_begin > kSlice || warp.polls.turn_is_over()) {
      warp.slice_begin = cta_.executed();
      ++warp.slices;
    }
    if (cta_.executed() > context_.budget && !warp.paths.empty()) {
      const DivergentPath& path = warp.paths.front();
      cta_.report(DiagnosticKind::timeout, warp, context_.program->ops[path.pc],
                  std::countr_zero(path.mask),
                  "the block has executed more instructions than a launch may: it does not end");
    }
  }
}

// Runs until the path can join another, diverges, waits or exits, or its time is over.
template <bool Counting, bool Watching>
void WarpExecutor::run_path(Warp& warp, std::size_t chosen, std::uint64_t fuel) {
  DivergentPath& path = warp.paths[chosen];
  const Op* const ops = context_.program->ops.data();
  const std::uint32_t mask = path.mask;
  const bool diverged = warp.paths.size() > 1;
  const std::uint32_t reconvergence = diverged ? next_reconvergence(warp, chosen) : ~0U;
  if (diverged) fuel = std::min(fuel, kSlice);
  const std::uint64_t fuel_begin = fuel;
  std::uint32_t pc = path.pc;
  do {
    const Op& op = ops[pc];
    if constexpr (Watching) {
      if (!context_.program->wgmma.empty() && !check_wgmma_registers(warp, pc)) break;
      if (warp.undefined) sanitizer_->follow(warp, op, mask);
    }
    if constexpr (Counting) record_->issue(cta_.rank(), warp.index, op);
    --fuel;
    const std::uint32_t active = guarded(warp, op, mask);
    if (op.kind == Kind::lanes) {
      if (active != 0) op.run(warp, op, active);
      ++pc;
    } else if (op.kind == Kind::branch) {
      if (active == 0) {
        ++pc;
      } else if (active == mask) {
        pc = op.target;
        if (diverged) break;
      } else {
        if constexpr (Counting) record_->totals.divergent += 1;
        path.pc = pc + 1;
        path.mask = mask & ~active;
        warp.paths.push_back({op.target, active, DivergentPath::State::ready, 0});
        cta_.add_executed(fuel_begin - fuel);
        return;
      }
    } else if (op.kind == Kind::memory) {
      if (active != 0) op.run(warp, op, active);
      if (cluster_.has_failed()) break;
      ++pc;
      if (warp.polls.turn_is_over() || (!Watching && warp.undefined)) break;
    } else {
      path.pc = pc;
      cta_.add_executed(fuel_begin - fuel);
      if (active == 0) {
        path.pc = pc + 1;
      } else if (active != mask) {  // those for whom it does not hold go on apart
        path.mask = active;
        warp.paths.push_back({pc + 1, mask & ~active, DivergentPath::State::ready, 0});
      } else {
        control(warp, chosen, op);
      }
      return;
    }
  } while (pc != reconvergence && fuel != 0);
  path.pc = pc;
  cta_.add_executed(fuel_begin - fuel);
}

void WarpExecutor::control(Warp& warp, std::size_t chosen, const Op& op) {
  DivergentPath& path = warp.paths[chosen];
  switch (op.kind) {
    case Kind::converge:
    case Kind::warp_sync:
      if (!converged(warp, path, op)) return;
      op.run(warp, op, path.mask);
      // Of all that a warp's lanes do together bar.warp.sync alone orders their memory (PTX ISA,
      // bar.warp.sync and shfl.sync): after a shuffle or a vote a lane may still not see what
      // another wrote before it.
      if (op.kind == Kind::warp_sync && sanitizer_ != nullptr) sanitizer_->converge(warp);
      path.pc += 1;
      return;
    case Kind::wait:
      wait(warp, chosen, op);
      return;
    case Kind::barrier:
      // m[2]: aligned, which wants the whole warp.
      if (op.m[2] != 0 && path.mask != warp.live) {
        path.state = DivergentPath::State::at_reconvergence;
        return;
      }
      barriers_.arrive(warp, chosen, op);
      return;
    case Kind::branch_indexed:
      branch_indexed(warp, chosen, op);
      return;
    case Kind::call: {
      std::uint32_t* back = target_slot(warp, op.r[0]);
      for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
        if ((path.mask >> lane & 1U) != 0) back[lane] = path.pc + 1;
      }
      path.pc = op.target;
      return;
    }
    case Kind::ret:
      return_lanes(warp, chosen, op);
      return;
    case Kind::exit:
      if (sanitizer_ != nullptr && !sanitizer_->exit(warp, op, path.mask)) return;
      if (warp.live == path.mask && !leaves_its_warpgroup(warp, op)) return;
      exit_lanes(warp, chosen);
      return;
    default:
      cta_.report(DiagnosticKind::trap, warp, op, std::countr_zero(path.mask),
                  op.m[0] == 1         ? "an assertion of the kernel failed"
                  : misses_workspace() ? "the kernel stopped itself: it asks for the grid's "
                                         "barrier, and this is no cooperative launch"
                                       : "the kernel stopped itself");
      return;
  }
}

bool WarpExecutor::misses_workspace() const {
  const auto& slots = context_.program->special_slots;
  return context_.grid_workspace == 0 &&
         slots[static_cast<std::size_t>(Special::envreg2)] != kNoOperand;
}

void WarpExecutor::wait(Warp& warp, std::size_t chosen, const Op& op) {
  DivergentPath& path = warp.paths[chosen];
  if (op.m[6] == 1 && !converged(warp, path, op)) return;
  warp.outcome = Warp::Outcome::go_on;
  op.run(warp, op, path.mask);
  if (warp.outcome == Warp::Outcome::wait) {
    path.state = DivergentPath::State::waiting;
    return;
  }
  path.pc += 1;
  turn_over_ = warp.outcome == Warp::Outcome::yield;
}

// Whether all lanes are here that `op` names: the whole warp for an aligned instruction (m[6] = 1),
// else those of the member masks in r[15].
bool WarpExecutor::converged(Warp& warp, const DivergentPath& path, const Op& op) {
  std::uint32_t wanted = warp.live;
  if (op.m[6] == 0 && !all_name_all(slot(warp, op.r[15]))) {
    std::uint32_t members = 0;
    std::uint32_t outside = 0;  // lanes that do not name themselves
    const std::uint32_t* masks = slot(warp, op.r[15]);
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const std::uint32_t here = 0U - (path.mask >> lane & 1U);
      members |= masks[lane] & here;
      outside |= ~masks[lane] & (1U << lane) & here;
    }
    if (outside != 0) {
      cta_.report(DiagnosticKind::barrier, warp, op, std::countr_zero(outside),
                  "the thread is not in the member mask that it gives");
      return false;
    }
    wanted &= members;
  }
  if ((path.mask & wanted) == wanted) return true;
  if (op.m[6] == 1 && !check_aligned(warp, path, op)) return false;
  warp.paths[static_cast<std::size_t>(&path - warp.paths.data())].state =
      DivergentPath::State::at_reconvergence;
  return false;
}

// An aligned instruction wants the warp as one. Lanes that wait for another warp apart are not on
// their way: whether the compiler makes the others wait for them, nobody has said. bar.sync is left
// out, as __syncthreads() may follow such a wait.
bool WarpExecutor::check_aligned(const Warp& warp, const DivergentPath& path, const Op& op) {
  for (const DivergentPath& other : warp.paths) {
    if (other.state != DivergentPath::State::waiting) continue;
    const Op& wait = context_.program->ops[other.pc];
    cta_.report(
        DiagnosticKind::barrier, warp, op, std::countr_zero(path.mask),
        fmt::format("a part of its warp comes to an aligned instruction while lane {} still "
                    "waits in {} ({}); no __syncwarp() brings them together",
                    std::countr_zero(other.mask), context_.program->names[wait.name],
                    line_text(*context_.program, wait)));
    return false;
  }
  return true;
}

void WarpExecutor::scatter(Warp& warp, std::size_t chosen, std::span<const std::uint32_t> targets) {
  std::map<std::uint32_t, std::uint32_t> masks;
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((warp.paths[chosen].mask >> lane & 1U) != 0) masks[targets[lane]] |= 1U << lane;
  }
  if (masks.size() > 1 && record_ != nullptr) record_->totals.divergent += 1;
  bool first = true;
  for (const auto& [pc, mask] : masks) {
    if (first) {
      warp.paths[chosen].pc = pc;
      warp.paths[chosen].mask = mask;
      first = false;
    } else {
      warp.paths.push_back({pc, mask, DivergentPath::State::ready, 0});
    }
  }
}

void WarpExecutor::branch_indexed(Warp& warp, std::size_t chosen, const Op& op) {
  const auto& table = context_.program->branch_tables[op.target];
  const std::uint32_t* index = slot(warp, op.r[0]);
  std::array<std::uint32_t, kWarpSize> targets{};
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((warp.paths[chosen].mask >> lane & 1U) == 0) continue;
    if (index[lane] >= table.size()) {
      cta_.report(DiagnosticKind::trap, warp, op, static_cast<int>(lane),
                  "the index is beyond the branch targets");
      return;
    }
    targets[lane] = table[index[lane]];
  }
  scatter(warp, chosen, targets);
}

void WarpExecutor::return_lanes(Warp& warp, std::size_t chosen, const Op& op) {
  scatter(warp, chosen, std::span(slot(warp, op.r[0]), kWarpSize));
}

bool WarpExecutor::leaves_its_warpgroup(const Warp& warp, const Op& op) {
  if (context_.program->wgmma.empty()) return true;
  const std::string wrong = cta_.warpgroup(warp).exit(warp.index % kWarpsAGroup);
  if (!wrong.empty()) cta_.report(DiagnosticKind::sync, warp, op, 0, wrong);
  return wrong.empty();
}

void WarpExecutor::exit_lanes(Warp& warp, std::size_t chosen) {
  warp.live &= ~warp.paths[chosen].mask;
  warp.paths.erase(warp.paths.begin() + static_cast<std::ptrdiff_t>(chosen));
  for (DivergentPath& path : warp.paths) {
    if (path.state == DivergentPath::State::at_reconvergence)
      path.state = DivergentPath::State::ready;
  }
  if (warp.live == 0) cta_.give_registers(warp);
  barriers_.complete();
  cta_.note_exits();
  if (cluster_.complete_phase() && sanitizer_ != nullptr) sanitizer_->complete_cluster();
}

}  // namespace fa_tune::emulator
