#include "engine/device/emulator/async/mbarrier_ops.hpp"

#include <bit>

#include <fmt/format.h>

// mbarrier and cluster instructions. Each thread acts for itself, one after the other.

namespace fa_tune::emulator {
namespace {

Mbarrier::Change arrive(Mbarrier& barrier, const Op& op, bool drop, std::uint32_t value) {
  if (op.m[3] == 0) return drop ? barrier.arrive_and_drop(value) : barrier.arrive(value);
  // arrive.expect_tx: first the bytes, then the arrival (PTX ISA, mbarrier.arrive).
  const Mbarrier::Change expected = barrier.expect_bytes(value);
  if (!expected.wrong.empty()) return expected;
  return drop ? barrier.arrive_and_drop(1) : barrier.arrive(1);
}

// Makes or ends an mbarrier. One that is in use may not be made anew without an end.
bool create(Warp& warp, const Op& op, int lane, std::byte* where) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, where, sizeof(bits));
  const auto what = static_cast<MbarrierOp>(op.m[6]);
  if (what == MbarrierOp::inval) {
    if (!Mbarrier::from(bits)) {
      warp.cta->report(DiagnosticKind::sync, warp, op, lane, "there is no mbarrier to invalidate");
      return false;
    }
    bits = 0;
  } else {
    const std::uint32_t count = slot(warp, op.r[0])[lane];
    if (count == 0 || count > Mbarrier::kMostCount) {
      warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                       fmt::format("an mbarrier for {} arrivals; 1 to 2^20 - 1 go", count));
      return false;
    }
    bits = Mbarrier::initialized(count).bits();
    if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
      sanitizer->make_mbarrier(warp, op, lane, where);
    }
    if (Record* record = warp.cta->record()) record->make_mbarrier(warp.cta->rank(), where);
  }
  std::memcpy(where, &bits, sizeof(bits));
  return true;
}

}  // namespace

bool find_mbarriers(Warp& warp, const Op& op, std::uint32_t mask, Addresses& addresses,
                    Pointers& out) {
  compute_addresses(warp, op, op.r[8], op.m[2], addresses);
  // Making and ending one are writes like others, so that nothing may use it at the same time.
  const auto what = static_cast<MbarrierOp>(op.m[6]);
  const bool plain =
      op.run == run_mbarrier && (what == MbarrierOp::init || what == MbarrierOp::inval);
  Access access{static_cast<Space>(op.m[0]), 8, true};
  if (!plain) {
    access.order = MemoryOrder::strong;
    access.scope = MemoryScope::cluster;  // whatever it orders besides
  }
  if (!resolve(warp, op, mask, access, addresses, out)) return false;
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  for (std::uint32_t rest = plain || sanitizer == nullptr ? 0 : mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::byte* where = out[static_cast<std::size_t>(lane)];
    if (!sanitizer->use_mbarrier(warp, op, lane, where, false)) return false;
  }
  return true;
}

void run_mbarrier(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Addresses addresses;
  Pointers pointers;
  if (!find_mbarriers(warp, op, mask, addresses, pointers)) return;
  const auto what = static_cast<MbarrierOp>(op.m[6]);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* const where = pointers[static_cast<std::size_t>(lane)];
    if (what == MbarrierOp::init || what == MbarrierOp::inval) {
      if (!create(warp, op, lane, where)) return;
      continue;
    }
    const std::uint32_t value = op.r[1] == kNoOperand ? 1 : slot(lanes, op.r[1])[lane];
    const bool arrives = what == MbarrierOp::arrive || what == MbarrierOp::arrive_drop;
    if (Sanitizer* sanitizer = warp.cta->sanitizer(); sanitizer != nullptr && arrives) {
      sanitizer->arrive_mbarrier(warp, lane, where, op.m[5]);
    }
    if (Record* record = warp.cta->record(); record != nullptr && arrives) {
      record->arrive(warp.cta->rank(), warp.index, where, false);
    }
    const auto before = change_mbarrier(warp, op, lane, where, [&](Mbarrier& barrier) {
      switch (what) {
        case MbarrierOp::arrive_drop:
          return arrive(barrier, op, true, value);
        case MbarrierOp::expect_tx:
          return barrier.expect_bytes(value);
        case MbarrierOp::complete_tx:
          return barrier.complete_bytes(value);
        default:
          return arrive(barrier, op, false, value);
      }
    });
    if (!before) return;
    if (op.r[0] != kNoOperand) target_slot64(lanes, op.r[0])[lane] = *before;
  }
}

void run_mbarrier_wait(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Addresses addresses;
  Pointers pointers;
  if (!find_mbarriers(warp, op, mask, addresses, pointers)) return;
  std::uint32_t over = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::uint64_t bits = 0;
    std::memcpy(&bits, pointers[static_cast<std::size_t>(lane)], sizeof(bits));
    const auto barrier = Mbarrier::from(bits);
    if (!barrier) {
      warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                       "there is no mbarrier: it was not initialized");
      return;
    }
    std::uint32_t parity = 0;
    if (op.m[3] != 0) {
      parity = slot(lanes, op.r[1])[lane];
      if (parity > 1) {
        warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                         fmt::format("waits for a phase of parity {}; there are 0 and 1", parity));
        return;
      }
    } else {
      const auto state = Mbarrier::from(slot64(lanes, op.r[1])[lane]);
      if (!state) {
        warp.cta->report(DiagnosticKind::sync, warp, op, lane, "the state is of no mbarrier");
        return;
      }
      parity = state->parity();
    }
    over |= static_cast<std::uint32_t>(barrier->parity() != parity) << lane;
  }
  std::uint32_t& word = lanes.predicates[op.r[0]];
  word = (word & ~mask) | over;
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
    for (std::uint32_t rest = over; rest != 0;) {
      const std::byte* where = pointers[static_cast<std::size_t>(std::countr_zero(rest))];
      std::uint32_t alike = 0;
      for (std::uint32_t others = rest; others != 0; others &= others - 1) {
        const int lane = std::countr_zero(others);
        if (pointers[static_cast<std::size_t>(lane)] == where) alike |= 1U << lane;
      }
      sanitizer->pass_mbarrier(warp, alike, where, op.m[5]);
      rest &= ~alike;
    }
  }
  if (Record* record = warp.cta->record()) {
    for (std::uint32_t rest = over; rest != 0; rest &= rest - 1) {
      record->pass(warp.cta->rank(), warp.index,
                   pointers[static_cast<std::size_t>(std::countr_zero(rest))]);
    }
  }
  if (over == mask) return;
  // A thread that may be suspended sleeps until something changes, unless a neighbour of its warp
  // can go on, which would then have to sleep with it.
  const bool sleeps = op.m[4] != 0 && over == 0;
  warp.outcome = sleeps ? Warp::Outcome::wait : Warp::Outcome::yield;
  warp.awaited = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
}

void run_pending_count(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto state = Mbarrier::from(slot64(lanes, op.r[1])[lane]);
    target_slot(lanes, op.r[0])[lane] = state ? state->pending() : 0;
  }
}

void run_cluster_arrive(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Cluster& cluster = warp.cta->cluster();
  if (!cluster.arrive(warp, op, mask)) return;
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer != nullptr) sanitizer->arrive_cluster(warp, mask, op.m[5] != 0);
  if (cluster.complete_phase() && sanitizer != nullptr) sanitizer->complete_cluster();
}

void run_cluster_wait(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  bool all = true;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (warp.cluster_phase[static_cast<std::size_t>(lane)] == 0) {
      warp.cta->report(DiagnosticKind::barrier, warp, op, lane,
                       "the thread has not arrived at the cluster's barrier");
      return;
    }
    all &= warp.cta->cluster().passed(warp, lane);
  }
  warp.awaited = 0;
  if (!all) {
    warp.outcome = Warp::Outcome::wait;
    return;
  }
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) sanitizer->leave_cluster(warp, mask);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    warp.cluster_phase[static_cast<std::size_t>(std::countr_zero(rest))] = 0;
  }
}

void run_map_address(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const std::uint32_t* ranks = slot(lanes, op.r[2]);
  const std::size_t size = warp.cta->cluster().ctas().size();
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint32_t rank = ranks[lane];
    if (rank >= size) {
      warp.cta->report(DiagnosticKind::out_of_bounds, warp, op, lane,
                       fmt::format("block {} of a cluster of {}", rank, size));
      return;
    }
    const std::uint64_t high = std::uint64_t{rank + 1} << kClusterRankAt;
    if (op.m[5] == 8) {
      const std::uint64_t address = slot64(lanes, op.r[1])[lane];
      target_slot64(lanes, op.r[0])[lane] =
          (address & ~std::uint64_t{UINT32_MAX ^ kSharedOffsetMask}) | high;
    } else {
      target_slot(lanes, op.r[0])[lane] =
          (slot(lanes, op.r[1])[lane] & kSharedOffsetMask) | static_cast<std::uint32_t>(high);
    }
  }
}

void run_cta_rank(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t own = warp_of(lanes).cta->rank();
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address =
        op.m[5] == 8 ? std::uint64_t{slot64(lanes, op.r[1])[lane]} : slot(lanes, op.r[1])[lane];
    const auto above = static_cast<std::uint32_t>(address) >> kClusterRankAt;
    target_slot(lanes, op.r[0])[lane] = above == 0 ? own : above - 1;
  }
}

void run_yield(LaneFile& lanes, const Op&, std::uint32_t) {
  warp_of(lanes).outcome = Warp::Outcome::yield;
}

}  // namespace fa_tune::emulator
