#include <bit>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// What orders accesses: barriers, mbarriers, fences, waits for copies.

namespace fa_tune::emulator {

void Sanitizer::converge(const Warp& warp) { clocks_.tick(number(warp)); }

void Sanitizer::close_time(std::uint32_t warp) {
  fenced_[warp] = clocks_.clock(warp);
  clocks_.tick(warp);
}

void Sanitizer::arrive(const Warp& warp, std::uint32_t id) {
  clocks_.release(number(warp), barriers_[warp.cta->rank()][id]);
}

// A barrier orders memory as a fence does.
void Sanitizer::leave(const Warp& warp, std::uint32_t id) {
  const std::uint32_t own = number(warp);
  clocks_.acquire(own, barriers_[warp.cta->rank()][id]);
  close_time(own);
}

void Sanitizer::reopen(const Cta& cta, std::uint32_t id) { barriers_[cta.rank()][id].clear(); }

void Sanitizer::arrive_cluster(const Warp& warp) { clocks_.release(number(warp), cluster_coming_); }

void Sanitizer::complete_cluster() { cluster_over_ = cluster_coming_; }

void Sanitizer::leave_cluster(const Warp& warp) {
  const std::uint32_t own = number(warp);
  clocks_.acquire(own, cluster_over_);
  close_time(own);
}

Sanitizer::PhaseClocks& Sanitizer::phases(const std::byte* mbarrier) {
  const auto [found, is_new] = mbarriers_.try_emplace(mbarrier);
  if (is_new) found->second.agent = clocks_.add_agent();
  return found->second;
}

void Sanitizer::arrive_mbarrier(const Warp& warp, const std::byte* mbarrier) {
  clocks_.release(number(warp), phases(mbarrier).coming);
}

void Sanitizer::complete_mbarrier(const std::byte* mbarrier) {
  PhaseClocks& phases = this->phases(mbarrier);
  phases.over = phases.coming;
  clocks_.advance(phases.agent);
}

void Sanitizer::pass_mbarrier(const Warp& warp, const std::byte* mbarrier) {
  const PhaseClocks& phases = this->phases(mbarrier);
  clocks_.acquire(number(warp), phases.over);
  clocks_.learn(number(warp), phases.agent, clocks_.time(phases.agent));
}

void Sanitizer::fence(const Warp& warp, bool beyond_cta) {
  const std::uint32_t own = number(warp);
  close_time(own);
  if (beyond_cta) global_.fence();
}

void Sanitizer::fence_proxy(const Warp& warp) { clocks_.fence_proxy(number(warp)); }

bool Sanitizer::begin_copy(Warp& warp, const Op& op, std::uint32_t mask, const Addresses& to,
                           std::uint32_t reading, const Addresses& from) {
  const Access read{static_cast<Space>(op.m[4]), op.m[1], false};
  if (reading != 0 && !access(warp, op, reading, read, from)) return false;
  const Access written{Space::shared, op.m[1], true};
  current_ = {&warp, &op, &written, &to, mask, warp.cta, false};
  const std::uint32_t own = number(warp);
  PendingCopies::Copy copy;
  copy.op = index_of(op);
  copy.lanes = mask;
  copy.bytes = op.m[1];
  copy.groups = warp.committed;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    copy.offsets[lane] = place(warp, to[lane]).offset;
    if (!checks_.races) continue;
    const Stamp stamp{Stamp::kUnfinished, copy.op, static_cast<std::uint16_t>(own),
                      static_cast<std::uint8_t>(lane), false};
    SharedShadow& cells = cells_[warp.cta->rank()];
    if (!cells.write(viewer(own), stamp, copy.offsets[lane], copy.bytes, *this)) return false;
  }
  copies_[own].begin(copy);
  return true;
}

void Sanitizer::wait_copies(Warp& warp, const Op& op, std::uint32_t mask) {
  const std::uint32_t own = number(warp);
  const auto covered = [&](const PendingCopies::Copy& copy, std::uint32_t lane) {
    return op.immediate < 0 ||
           std::int64_t{copy.groups[lane]} + op.immediate < std::int64_t{warp.committed[lane]};
  };
  copies_[own].end(mask, covered, [&](const PendingCopies::Copy& copy, std::uint32_t lane) {
    end_copy(warp, copy, lane, static_cast<std::uint16_t>(own), clocks_.time(own));
  });
}

void Sanitizer::hand_copies(const Warp& warp, int lane, const std::byte* mbarrier) {
  const std::uint16_t agent = phases(mbarrier).agent;
  const auto all = [](const PendingCopies::Copy&, std::uint32_t) { return true; };
  copies_[number(warp)].end(1U << lane, all,
                            [&](const PendingCopies::Copy& copy, std::uint32_t own) {
                              end_copy(warp, copy, own, agent, clocks_.time(agent) + 1);
                            });
}

void Sanitizer::end_copy(const Warp& warp, const PendingCopies::Copy& copy, std::uint32_t lane,
                         std::uint16_t agent, std::uint32_t time) {
  const std::uint32_t rank = warp.cta->rank();
  const std::uint32_t offset = copy.offsets[lane];
  if (checks_.initialized) shared_written_[rank].mark(offset, copy.bytes);
  if (!checks_.races) return;
  const auto own = static_cast<std::uint16_t>(number(warp));
  const auto small = static_cast<std::uint8_t>(lane);
  cells_[rank].finish({Stamp::kUnfinished, copy.op, own, small, false},
                      {time, copy.op, agent, small, false}, offset, copy.bytes);
}

bool Sanitizer::exit(Warp& warp, const Op& op, std::uint32_t mask) {
  if (!checks_.sync) return true;
  const std::uint32_t own = number(warp);
  if (const PendingCopies::Copy* copy = copies_[own].of_lanes(mask)) {
    report_exit(warp, op, std::countr_zero(copy->lanes & mask), copy->op);
    return false;
  }
  for (const auto& warps : grouped_) {
    for (const Grouped::Part& part : warps[own].parts) {
      if ((mask >> part.lane & 1U) == 0) continue;
      report_exit(warp, op, part.lane, part.op);
      return false;
    }
  }
  return true;
}

}  // namespace fa_tune::emulator
