#include <bit>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// What orders accesses: barriers, fences, strong accesses, waits for copies.

namespace fa_tune::emulator {
namespace {

// A key of `flags_` for a place in shared memory; global addresses lie elsewhere.
constexpr std::uint64_t kSharedKey = std::uint64_t{1} << 63;

}  // namespace

void Sanitizer::converge(const Warp& warp) { clocks_.converge(number(warp)); }

void Sanitizer::arrive(const Warp& warp, std::uint32_t lanes, std::uint32_t id, bool waits) {
  const LaneSet who = lane_set(warp, lanes);
  clocks_.release(number(warp), who, barriers_[warp.cta->rank()][id]);
  // A warp that arrives as one goes on as one.
  if (!waits && who.all) clocks_.converge(number(warp));
}

// A barrier orders memory as a fence does.
void Sanitizer::leave(const Warp& warp, std::uint32_t lanes, std::uint32_t id) {
  const LaneSet who = lane_set(warp, lanes);
  const std::uint32_t own = number(warp);
  clocks_.acquire(own, who, barriers_[warp.cta->rank()][id]);
  if (who.all) clocks_.converge(own);
  clocks_.fence(own, who, MemoryScope::cta);
}

void Sanitizer::reopen(const Cta& cta, std::uint32_t id) { barriers_[cta.rank()][id].clear(); }

// A relaxed arrival orders nothing but what fences have covered (PTX ISA, barrier.cluster).
void Sanitizer::arrive_cluster(const Warp& warp, std::uint32_t lanes, bool relaxed) {
  if (relaxed) {
    clocks_.publish(number(warp), MemoryScope::cluster, cluster_coming_);
  } else {
    clocks_.release(number(warp), lane_set(warp, lanes), cluster_coming_);
  }
}

void Sanitizer::complete_cluster() { cluster_over_ = cluster_coming_; }

void Sanitizer::leave_cluster(const Warp& warp, std::uint32_t lanes) {
  const std::uint32_t own = number(warp);
  const LaneSet who = lane_set(warp, lanes);
  clocks_.acquire(own, who, cluster_over_);
  clocks_.fence(own, who, MemoryScope::cluster);
}

void Sanitizer::fence(const Warp& warp, std::uint32_t lanes, MemoryScope scope) {
  clocks_.fence(number(warp), lane_set(warp, lanes), scope);
}

void Sanitizer::fence_proxy(const Warp& warp, std::uint32_t lanes, ProxySpace space) {
  clocks_.fence_proxy(number(warp), lane_set(warp, lanes), space);
}

void Sanitizer::fence_made(const Warp& warp, std::uint32_t lanes) {
  clocks_.fence_made(number(warp), lane_set(warp, lanes));
}

void Sanitizer::synchronize(const Current& at, bool global) {
  for (std::uint32_t rest = at.mask; rest != 0;) {
    const auto first = static_cast<std::size_t>(std::countr_zero(rest));
    std::uint32_t lanes = 0;
    for (std::uint32_t others = rest; others != 0; others &= others - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(others));
      if ((*at.addresses)[lane] == (*at.addresses)[first]) lanes |= 1U << lane;
    }
    rest &= ~lanes;
    std::uint64_t key = (*at.addresses)[first];
    if (!global) {
      const auto [rank, offset] = place(*at.warp, key);
      key = kSharedKey | std::uint64_t{rank} << 32 | offset;
    }
    synchronize(at, lanes, key, global);
  }
}

// A strong access may publish what fences have covered, and find what others have published at this
// place. What it finds is known after a fence, or at once if the read is an acquire (PTX ISA, "Memory
// Consistency Model: Release and Acquire Patterns").
void Sanitizer::synchronize(const Current& at, std::uint32_t lanes, std::uint64_t key,
                            bool global) {
  const Access& access = *at.access;
  const LaneSet who = lane_set(*at.warp, lanes);
  if (access.reads()) learn_flag(at, who, key, global);
  if (access.write) publish_flag(at, who, key, global);
}

void Sanitizer::learn_flag(const Current& at, const LaneSet& lanes, std::uint64_t key,
                           bool global) {
  const MemoryScope scope = at.access->scope;
  const std::uint32_t own = number(*at.warp);
  if (const auto found = flags_.find(key); found != flags_.end()) {
    // Within a CTA the fence is not asked for: CUDA's own samples have none there.
    const Clock& near = found->second.cta[at.warp->cta->rank()];
    if (!clocks_.view(own).alike.known.includes(near.known)) clocks_.acquire(own, lanes, near);
    if (scope >= MemoryScope::cluster) {
      clocks_.observe(own, lanes, MemoryScope::cluster, found->second.cluster);
    }
  }
  if (global && scope >= MemoryScope::gpu) {
    if (const GlobalShadow::Published* others = global_.published(key)) {
      Clock published;
      published.known.beyond = others->known;
      published.proxied[static_cast<std::size_t>(ProxySpace::global)].beyond = others->proxied;
      clocks_.observe(own, lanes, MemoryScope::gpu, published);
    }
  }
  if (at.access->acquires()) clocks_.settle(own, lanes, scope);
}

void Sanitizer::publish_flag(const Current& at, const LaneSet& lanes, std::uint64_t key,
                             bool global) {
  const MemoryScope scope = at.access->scope;
  const std::uint32_t own = number(*at.warp);
  if (at.access->releases()) clocks_.cover(own, lanes, scope);
  const auto covered = [&](MemoryScope level) -> const Horizon& {
    return clocks_.view(own).alike.fenced[static_cast<std::size_t>(level) - 1];
  };
  if (scope == MemoryScope::none || covered(MemoryScope::cta).empty()) return;
  Flag& flag = flags_[key];
  flag.cta.resize(barriers_.size());
  Clock& near = flag.cta[at.warp->cta->rank()];
  if (!near.known.includes(covered(MemoryScope::cta))) clocks_.publish(own, MemoryScope::cta, near);
  if (scope >= MemoryScope::cluster && barriers_.size() > 1 &&
      !covered(MemoryScope::cluster).empty()) {
    clocks_.publish(own, MemoryScope::cluster, flag.cluster);
  }
  if (global && scope >= MemoryScope::gpu && !covered(MemoryScope::gpu).empty()) {
    Clock published;
    clocks_.publish(own, MemoryScope::gpu, published);
    global_.publish(key, static_cast<std::uint32_t>(cluster_), published);
  }
}

bool Sanitizer::begin_copy(Warp& warp, const Op& op, std::uint32_t mask, const Addresses& to,
                           std::uint32_t reading, const Addresses& from) {
  const Access read{static_cast<Space>(op.m[4]), op.m[1], false};
  if (reading != 0 && !access(warp, op, reading, read, from)) return false;
  const Access written{Space::shared, op.m[1], true};
  current_ = {&warp, &op, &written, &to, mask, warp.cta, false, {}};
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
    const Stamp stamp{Stamp::kUnfinished,
                      copy.op,
                      static_cast<std::uint16_t>(own),
                      static_cast<std::uint8_t>(lane),
                      {}};
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
  cells_[rank].finish({Stamp::kUnfinished, copy.op, own, small, {}},
                      {time, copy.op, agent, small, {}}, offset, copy.bytes);
}

bool Sanitizer::exit(Warp& warp, const Op& op, std::uint32_t mask) {
  if (!checks_.sync) return true;
  const std::uint32_t own = number(warp);
  if (const PendingCopies::Copy* copy = copies_[own].of_lanes(mask)) {
    report_exit(warp, op, std::countr_zero(copy->lanes & mask), copy->op);
    return false;
  }
  // What leaves for global memory outlives the thread once it has been read.
  for (const AsyncGroupKind kind : {AsyncGroupKind::wgmma, AsyncGroupKind::bulk_reads}) {
    for (const Grouped::Part& part : grouped_[static_cast<std::size_t>(kind)][own].parts) {
      if ((mask >> part.lane & 1U) == 0) continue;
      report_exit(warp, op, part.lane, part.op);
      return false;
    }
  }
  return true;
}

}  // namespace fa_tune::emulator
