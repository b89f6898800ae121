#include <bit>
#include <memory>

#include <fmt/format.h>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/memory/memory_ops.hpp"

// Bulk copies of plain bytes, and bulk groups. Addresses are checked when the copy is issued and
// again when it completes: a CTA may have ended, a buffer may be gone.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kBulkUnit = 16;  // bytes: every address and size is a multiple

// What a copy from shared memory carries once it has read it.
struct BulkPayload {
  std::vector<std::byte> bytes;
  bool read = false;
};

class BulkCopy {
 public:
  BulkCopy(Warp& warp, const Op& op, int lane)
      : warp_(warp),
        op_(op),
        lane_(lane),
        bytes_(static_cast<std::uint32_t>(bulk_operand(warp, op, 2, lane))),
        source_(bulk_operand(warp, op, 1, lane)) {}

  // False after a report.
  bool start() {
    if (bytes_ % kBulkUnit != 0) {
      warp_.cta->report(DiagnosticKind::misaligned, warp_, op_, lane_,
                        fmt::format("copies {} bytes, no multiple of {}", bytes_, kBulkUnit));
      return false;
    }
    count_bulk(warp_, bytes_);
    return static_cast<Route>(op_.m[0]) == Route::store ? start_store() : start_load();
  }

 private:
  const std::byte* source(const Warp&) const {
    const bool from_global = static_cast<Route>(op_.m[0]) == Route::load;
    const Access access{
        .space = from_global ? Space::global : Space::shared, .bytes = bytes_, .align = kBulkUnit};
    return resolve_one(warp_, op_, lane_, access, source_);
  }
  std::byte* target(Space space, std::uint64_t address) const {
    return resolve_one(warp_, op_, lane_,
                       {.space = space, .bytes = bytes_, .write = true, .align = kBulkUnit},
                       address);
  }
  void put(std::byte* to, const std::byte* from) const {
    if (op_.m[2] == 0) {
      std::memmove(to, from, bytes_);
    } else {
      reduce_elements(static_cast<Atomic>(op_.m[2] - 1), static_cast<Type>(op_.m[3]), to, from,
                      bytes_);
    }
  }

  bool start_load() {
    const std::vector<BulkTarget> targets = bulk_targets(warp_, op_, lane_);
    if (source(warp_) == nullptr) return false;
    for (const BulkTarget& each : targets) {
      if (target(Space::cluster, each.address) == nullptr) return false;
    }
    const GlobalPiece piece{source_, bytes_};
    const bool from_global = static_cast<Route>(op_.m[0]) == Route::load;
    const std::span<const GlobalPiece> pieces(&piece, from_global ? 1 : 0);
    const std::byte* from_shared = from_global ? nullptr : source(warp_);
    if (!watch_bulk_load(warp_, op_, lane_, targets, from_shared, pieces, bytes_)) return false;
    record_bulk_load(warp_, op_, lane_, targets, bytes_);
    warp_.cta->cluster().start(
        {&warp_,
         &op_,
         lane_,
         AsyncOperation::kNoGroup,
         [copy = *this, targets] {
           const std::byte* from = copy.source(copy.warp_);
           for (const BulkTarget& each : targets) {
             std::byte* to = from == nullptr ? nullptr : copy.target(Space::cluster, each.address);
             if (to == nullptr) return;
             copy.put(to, from);
             if (!complete_bulk(copy.warp_, copy.op_, copy.lane_, each, copy.bytes_)) return;
           }
         },
         {}});
    return !warp_.cta->cluster().has_failed();
  }

  bool start_store() {
    const std::uint64_t address = bulk_operand(warp_, op_, 0, lane_);
    if (source(warp_) == nullptr || target(Space::global, address) == nullptr) return false;
    const GlobalPiece piece{address, bytes_};
    if (!watch_bulk_store(warp_, op_, lane_, source(warp_), {&piece, 1}, bytes_)) return false;
    record_bulk_store(warp_, bytes_);
    const auto payload = std::make_shared<BulkPayload>();
    const auto read_source = [copy = *this, payload] {
      if (payload->read) return;
      const std::byte* from = copy.source(copy.warp_);
      if (from == nullptr) return;
      payload->bytes.assign(from, from + copy.bytes_);
      payload->read = true;
    };
    const std::uint32_t group = warp_.bulk_committed[static_cast<std::size_t>(lane_)];
    warp_.cta->cluster().start({&warp_, &op_, lane_, group,
                                [copy = *this, payload, read_source, address] {
                                  read_source();
                                  std::byte* to = copy.target(Space::global, address);
                                  if (payload->read && to != nullptr) {
                                    copy.put(to, payload->bytes.data());
                                  }
                                },
                                read_source});
    return !warp_.cta->cluster().has_failed();
  }

  Warp& warp_;
  const Op& op_;
  int lane_;
  std::uint32_t bytes_;
  std::uint64_t source_;
};

// What a Sanitizer is told of bulk copies. It is told when they are issued, whenever they complete:
// from then on nothing may touch what they touch until their end is known.
bool watch_global(Warp& warp, const Op& op, int lane, const CompletionToken& end,
                  std::span<const GlobalPiece> pieces, const Access& access) {
  Sanitizer& sanitizer = *warp.cta->sanitizer();
  for (const GlobalPiece& piece : pieces) {
    if (!sanitizer.async_global(warp, op, lane, end, piece.address, piece.bytes, access)) {
      return false;
    }
  }
  return true;
}

// A reduction reads what it writes, each element atomically at gpu scope (PTX ISA,
// cp.reduce.async.bulk).
Access written(const Op& op, Space space, std::uint32_t bytes) {
  return {.space = space,
          .bytes = bytes,
          .write = true,
          .order = op.m[2] == 0 ? MemoryOrder::plain : MemoryOrder::update,
          .scope = op.m[2] == 0 ? MemoryScope::none : MemoryScope::gpu};
}

}  // namespace

std::uint64_t bulk_operand(const LaneFile& lanes, const Op& op, std::size_t i, int lane) {
  if ((op.m[1] >> i & 1U) != 0) return slot64(lanes, op.r[i])[lane];
  return slot(lanes, op.r[i])[lane];
}

std::vector<BulkTarget> bulk_targets(const LaneFile& lanes, const Op& op, int lane) {
  const BulkTarget given{bulk_operand(lanes, op, 0, lane), bulk_operand(lanes, op, 3, lane)};
  if (op.r[4] == kNoOperand) return {given};
  std::vector<BulkTarget> targets;
  const std::uint32_t ctas = slot(lanes, op.r[4])[lane] & 0xffffU;
  for (std::uint32_t rest = ctas; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint64_t>(std::countr_zero(rest));
    const std::uint64_t high = (rank + 1) << kClusterRankAt;
    targets.push_back(
        {(given.address & kSharedOffsetMask) | high, (given.barrier & kSharedOffsetMask) | high});
  }
  return targets;
}

bool complete_bulk(Warp& warp, const Op& op, int lane, const BulkTarget& target,
                   std::uint32_t bytes) {
  std::byte* where = resolve_one(
      warp, op, lane, {.space = Space::cluster, .bytes = 8, .write = true}, target.barrier);
  if (where == nullptr) return false;
  return change_mbarrier(warp, op, lane, where,
                         [bytes](Mbarrier& barrier) { return barrier.complete_bytes(bytes); })
      .has_value();
}

void count_bulk(Warp& warp, std::uint64_t bytes) {
  if (Counters* counters = warp.cta->counters()) {
    counters->bulk_copies += 1;
    counters->bulk_bytes += bytes;
  }
}

void record_bulk_load(Warp& warp, const Op& op, int lane, const std::vector<BulkTarget>& targets,
                      std::uint32_t bytes) {
  Record* const record = warp.cta->record();
  if (record == nullptr) return;
  std::vector<const std::byte*> mbarriers;
  for (const BulkTarget& each : targets) {
    mbarriers.push_back(resolve_one(
        warp, op, lane, {.space = Space::cluster, .bytes = 8, .write = true}, each.barrier));
    if (mbarriers.back() == nullptr) return;
  }
  const bool from_global = op.run != run_async_store && static_cast<Route>(op.m[0]) == Route::load;
  record->load(warp.cta->rank(), warp.index, from_global, mbarriers, bytes);
}

void record_bulk_store(Warp& warp, std::uint32_t bytes) {
  if (Record* record = warp.cta->record()) record->store(warp.cta->rank(), warp.index, bytes);
}

void run_bulk_copy(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    if (!BulkCopy(warp_of(lanes), op, std::countr_zero(rest)).start()) return;
  }
}

void run_bulk_commit(LaneFile& lanes, const Op&, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane)
    warp.bulk_committed[lane] += mask >> lane & 1U;
}

void run_bulk_wait(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (Counters* counters = warp.cta->counters()) counters->async_waits += 1;
  const auto what = op.m[0] != 0 ? Cluster::Finish::reads : Cluster::Finish::all;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::int64_t end =
        std::int64_t{warp.bulk_committed[static_cast<std::size_t>(lane)]} - op.immediate;
    if (end > 0) {
      if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
        const auto before = static_cast<std::uint32_t>(end);
        sanitizer->wait_groups(warp, lane, 1U << lane, before, AsyncGroupKind::bulk_reads);
        // With .read what the stores write may still be under way (PTX ISA,
        // cp.async.bulk.wait_group).
        if (what == Cluster::Finish::all) {
          sanitizer->wait_groups(warp, lane, 1U << lane, before, AsyncGroupKind::bulk_writes);
        }
      }
      warp.cta->cluster().finish_groups(warp, lane, static_cast<std::uint32_t>(end), what);
    }
  }
}

bool watch_bulk_load(Warp& warp, const Op& op, int lane, const std::vector<BulkTarget>& targets,
                     const std::byte* source, std::span<const GlobalPiece> pieces,
                     std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer == nullptr) return true;
  const Access global{.space = Space::global, .bytes = bytes};
  const Access shared{.space = Space::shared, .bytes = bytes};
  const std::uint32_t self = 1U << lane;
  for (const BulkTarget& each : targets) {
    const Access barrier{.space = Space::cluster, .bytes = 8, .write = true};
    const std::byte* mbarrier = resolve_one(warp, op, lane, barrier, each.barrier);
    if (mbarrier == nullptr || !sanitizer->use_mbarrier(warp, op, lane, mbarrier, true)) {
      return false;
    }
    const CompletionToken end = sanitizer->by_phase(warp, op, lane, mbarrier);
    if (!watch_global(warp, op, lane, end, pieces, global)) return false;
    if (source != nullptr &&
        !sanitizer->async_shared(warp, op, lane, self, end, source, bytes, shared, true)) {
      return false;
    }
    const Access to = written(op, Space::cluster, bytes);
    const std::byte* target = resolve_one(
        warp, op, lane, {.space = Space::cluster, .bytes = bytes, .write = true, .align = 16},
        each.address);
    if (target == nullptr ||
        !sanitizer->async_shared(warp, op, lane, self, end, target, bytes, to, true)) {
      return false;
    }
  }
  return true;
}

bool watch_bulk_store(Warp& warp, const Op& op, int lane, const std::byte* source,
                      std::span<const GlobalPiece> pieces, std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer == nullptr) return true;
  const std::uint32_t group = warp.bulk_committed[static_cast<std::size_t>(lane)];
  const CompletionToken read =
      sanitizer->by_group(warp, lane, group, AsyncGroupKind::bulk_reads, op);
  const CompletionToken done =
      sanitizer->by_group(warp, lane, group, AsyncGroupKind::bulk_writes, op);
  const Access from{.space = Space::shared, .bytes = bytes};
  return sanitizer->async_shared(warp, op, lane, 1U << lane, read, source, bytes, from, true) &&
         watch_global(warp, op, lane, done, pieces, written(op, Space::global, bytes));
}

}  // namespace fa_tune::emulator
