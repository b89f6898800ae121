#pragma once

#include <cstring>

#include "engine/device/emulator/async/mbarrier.hpp"
#include "engine/device/emulator/memory/address_resolution.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

namespace fa_tune::emulator {

// Addresses of, and pointers to, the mbarriers that the lanes of `mask` name: r[8], m[0], m[2] and
// immediate as in access.hpp. False after a report.
bool find_mbarriers(Warp& warp, const Op& op, std::uint32_t mask, Addresses& addresses,
                    Pointers& out);

// Changes the mbarrier at `where` for one lane, reports what is wrong, and wakes who may wait for
// it. `change` takes a Mbarrier& and returns a Mbarrier::Change. Returns the bits of before, or
// nothing after a report.
template <class Do>
std::optional<std::uint64_t> change_mbarrier(Warp& warp, const Op& op, int lane, std::byte* where,
                                             Do&& change) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, where, sizeof(bits));
  auto barrier = Mbarrier::from(bits);
  if (!barrier) {
    warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                     "there is no mbarrier: it was not initialized");
    return std::nullopt;
  }
  const Mbarrier::Change done = change(*barrier);
  if (!done.wrong.empty()) {
    warp.cta->report(DiagnosticKind::sync, warp, op, lane, std::string(done.wrong));
    return std::nullopt;
  }
  const std::uint64_t changed = barrier->bits();
  std::memcpy(where, &changed, sizeof(changed));
  if (!done.completed) return bits;
  if (Record* record = warp.cta->record()) record->complete_phase(where);
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) sanitizer->complete_mbarrier(where);
  warp.cta->cluster().wake();
  return bits;
}

// mbarrier.*; m[6] says which; m[5]: MemoryOrder and MemoryScope, packed, of arrivals.
enum class MbarrierOp : std::uint8_t {
  init,  // r[0]: count
  inval,
  arrive,       // r[0]: state or none; r[1]: count or none; m[3]: expect_tx: r[1] is bytes
  arrive_drop,  // the same
  expect_tx,    // r[1]: bytes
  complete_tx,  // r[1]: bytes
};
void run_mbarrier(LaneFile& lanes, const Op& op, std::uint32_t mask);
// mbarrier.test_wait and try_wait: r[0]: predicate; r[1]: state or parity; m[3]: 1 parity; m[4]: 1
// if it may suspend the thread (try_wait); m[5]: MemoryOrder and MemoryScope, packed.
void run_mbarrier_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);
// r[0]: count; r[1]: state
void run_pending_count(LaneFile& lanes, const Op& op, std::uint32_t mask);

// barrier.cluster.arrive and wait; m[5]: relaxed
void run_cluster_arrive(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_cluster_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);
// mapa: r[0]: result, r[1]: address, r[2]: rank; m[5]: bytes of r[0] and r[1]. getctarank: r[0]:
// result, r[1]: address.
void run_map_address(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_cta_rank(LaneFile& lanes, const Op& op, std::uint32_t mask);
// cp.async.mbarrier.arrive
void run_async_arrive(LaneFile& lanes, const Op& op, std::uint32_t mask);
// nanosleep: lets others run.
void run_yield(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
