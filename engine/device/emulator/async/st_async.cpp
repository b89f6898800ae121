#include <bit>
#include <cstring>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"

// st.async runs as one more asynchronous operation.

namespace fa_tune::emulator {
namespace {

std::byte* place_of(Warp& warp, const Op& op, int lane, std::uint64_t address,
                    std::uint32_t bytes) {
  return resolve_one(warp, op, lane, {.space = Space::cluster, .bytes = bytes, .write = true},
                     address);
}

// Tells the Sanitizer, if there is one, when the store is issued. False after a report.
bool watch(Warp& warp, const Op& op, int lane, const std::byte* to, const std::byte* barrier,
           std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  // It is no operation of the asynchronous proxy: PTX ISA, st.async.
  return sanitizer == nullptr ||
         (sanitizer->use_mbarrier(warp, op, lane, barrier, false) &&
          sanitizer->async_shared(warp, op, lane, 1U << lane,
                                  sanitizer->by_phase(warp, op, lane, barrier), to, bytes,
                                  {.space = Space::cluster, .bytes = bytes, .write = true}, false));
}

bool start(Warp& warp, const Op& op, int lane) {
  const BulkTarget target{bulk_operand(warp, op, 0, lane), bulk_operand(warp, op, 3, lane)};
  const auto payload = stored_bytes(warp, op, lane, kAsyncStoreValue);
  const auto bytes = static_cast<std::uint32_t>(op.m[4] * size_of(static_cast<Type>(op.m[3])));
  const std::byte* to = place_of(warp, op, lane, target.address, bytes);
  if (to == nullptr) return false;
  const std::byte* barrier = place_of(warp, op, lane, target.barrier, 8);
  if (barrier == nullptr || !watch(warp, op, lane, to, barrier, bytes)) return false;
  record_bulk_load(warp, op, lane, {target}, bytes);
  warp.cta->cluster().start({&warp,
                             &op,
                             lane,
                             AsyncOperation::kNoGroup,
                             [&warp, &op, lane, target, payload, bytes] {
                               std::byte* place = place_of(warp, op, lane, target.address, bytes);
                               if (place == nullptr) return;
                               std::memcpy(place, payload.data(), bytes);
                               (void)complete_bulk(warp, op, lane, target, bytes);
                             },
                             {}});
  return !warp.cta->cluster().has_failed();
}

}  // namespace

void run_async_store(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    if (!start(warp_of(lanes), op, std::countr_zero(rest))) return;
  }
}

}  // namespace fa_tune::emulator
