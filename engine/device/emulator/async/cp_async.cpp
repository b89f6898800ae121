#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/memory/address_resolution.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// cp.async: r[0]: address in shared memory; r[1]: address in global memory; r[2]: bytes to read, or
// none for all; r[3]: predicate that says to read nothing, or none; m[1]: bytes; m[2], m[3]: bytes
// of the two base registers; m[4]: space of the source; m[5]: r[3] is negated; immediate: offset of
// the first address, and `target`: offset of the second. Waits: immediate: groups that may
// stay; -1: none, also of copies not committed.

namespace fa_tune::emulator {
namespace {

void commit_writes(const PendingCopy& copy, std::size_t lane) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), copy.from[lane], copy.valid[lane]);
  std::memcpy(copy.to[lane], bytes.data(), copy.bytes);
}

// The copies of a lane among the first `end` that its warp has begun.
void commit_copies(Warp& warp, int lane, std::uint64_t end) {
  for (PendingCopy& copy : warp.copies) {
    if (copy.number >= end || (copy.mask >> lane & 1U) == 0) continue;
    commit_writes(copy, static_cast<std::size_t>(lane));
    copy.mask &= ~(1U << lane);
  }
  std::erase_if(warp.copies, [](const PendingCopy& copy) { return copy.mask == 0; });
}

}  // namespace

void run_async_copy(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Cta& cta = *warp.cta;
  const Access to{Space::shared, op.m[1], true, MemoryOrder::unwatched};
  const Access from{static_cast<Space>(op.m[4]), op.m[1], false, MemoryOrder::unwatched};
  PendingCopy copy;
  copy.mask = mask;
  copy.bytes = op.m[1];
  copy.number = warp.copies_begun++;
  copy.valid.fill(op.m[1]);
  Addresses targets;
  Addresses sources;
  compute_addresses(lanes, op, op.r[0], op.m[2], targets);
  compute_addresses(lanes, op, op.r[1], op.m[3], sources);
  for (std::uint64_t& address : sources) {
    address += static_cast<std::uint64_t>(static_cast<std::int32_t>(op.target)) -
               static_cast<std::uint64_t>(op.immediate);
  }
  std::uint32_t reading = mask;
  if (op.r[3] != kNoOperand) {
    const std::uint32_t word = lanes.predicates[op.r[3]];
    reading &= op.m[5] != 0 ? word : ~word;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto i = static_cast<std::size_t>(lane);
    if (op.r[2] != kNoOperand) copy.valid[i] = slot(lanes, op.r[2])[lane];
    if (copy.valid[i] > op.m[1]) {
      cta.report(DiagnosticKind::out_of_bounds, warp, op, lane,
                 fmt::format("reads {} bytes of a copy of {}", copy.valid[i], op.m[1]));
      return;
    }
    if ((reading >> lane & 1U) == 0) copy.valid[i] = 0;
    if (copy.valid[i] == 0) reading &= ~(1U << lane);  // its address is never used
    copy.group[i] = warp.committed[i];
  }
  Pointers read{};
  Pointers written{};
  if (!resolve(warp, op, mask, to, targets, written)) return;
  if (reading != 0 && !resolve(warp, op, reading, from, sources, read)) return;
  Sanitizer* const sanitizer = cta.sanitizer();
  if (sanitizer != nullptr && !sanitizer->begin_copy(warp, op, mask, targets, reading, sources)) {
    return;
  }
  if (Record* record = cta.record()) {
    record->totals.async_copies += 1;
    count_access(*record, mask, to, targets);
    if (reading != 0) count_access(*record, reading, from, sources);
    record->totals.async_sectors += copied_sectors(reading, sources, targets);
  }
  for (std::size_t i = 0; i < kWarpSize; ++i) {
    copy.from[i] = read[i];
    copy.to[i] = written[i];
    if ((reading >> i & 1U) == 0) {
      copy.from[i] = written[i];  // any address: nothing is read
      copy.valid[i] = 0;
    }
  }
  if (cta.cluster().interleaving().early()) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      commit_writes(copy, static_cast<std::size_t>(std::countr_zero(rest)));
    }
    return;
  }
  warp.copies.push_back(copy);
}

// cp.async.mbarrier.arrive: r[8] address of the mbarrier, m[0] space, m[2], immediate as in
// access.hpp; m[5]: .noinc, else one more arrival is expected first.
void run_async_arrive(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Addresses addresses;
  Pointers pointers;
  if (!find_mbarriers(warp, op, mask, addresses, pointers)) return;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto i = static_cast<std::size_t>(lane);
    if (op.m[5] == 0) {
      change_mbarrier(warp, op, lane, pointers[i],
                      [](Mbarrier& barrier) { return barrier.expect_arrival(); });
    }
    if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
      sanitizer->hand_copies(warp, lane, pointers[i]);
    }
    if (Record* record = warp.cta->record()) {
      record->arrive(warp.cta->rank(), warp.index, pointers[i], true);
    }
    const std::uint64_t end = warp.copies_begun;
    std::byte* const where = pointers[i];
    warp.cta->cluster().start(
        {&warp, &op, lane, AsyncOperation::kNoGroup, [&warp, &op, lane, where, end] {
           commit_copies(warp, lane, end);
           change_mbarrier(warp, op, lane, where,
                           [](Mbarrier& barrier) { return barrier.arrive(1); });
         }});
  }
}

void run_async_commit(LaneFile& lanes, const Op&, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) warp.committed[lane] += mask >> lane & 1U;
}

void run_async_wait(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (Counters* counters = warp.cta->counters()) counters->async_waits += 1;
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) sanitizer->wait_copies(warp, op, mask);
  for (PendingCopy& copy : warp.copies) {
    for (std::uint32_t rest = copy.mask & mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      const bool covered = op.immediate < 0 || std::int64_t{copy.group[lane]} + op.immediate <
                                                   std::int64_t{warp.committed[lane]};
      if (!covered) continue;
      commit_writes(copy, lane);
      copy.mask &= ~(1U << lane);
    }
  }
  std::erase_if(warp.copies, [](const PendingCopy& copy) { return copy.mask == 0; });
}

}  // namespace fa_tune::emulator
