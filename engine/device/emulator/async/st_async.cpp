#include <bit>
#include <cstring>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"

// st.async runs as one more asynchronous operation.

namespace fa_tune::emulator {
namespace {

struct StAsyncPayload {
  std::array<std::byte, 16> bytes{};
  std::uint32_t size = 0;
};

StAsyncPayload payload_of(const Warp& warp, const Op& op, int lane) {
  StAsyncPayload payload;
  const auto step = static_cast<std::uint32_t>(size_of(static_cast<Type>(op.m[3])));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::uint16_t index = op.r[async_store_value + i];
    const std::uint64_t value =
        op.m[5] == 8 ? std::uint64_t{slot64(warp, index)[lane]} : slot(warp, index)[lane];
    std::memcpy(payload.bytes.data() + payload.size, &value, step);
    payload.size += step;
  }
  return payload;
}

std::byte* place_of(Warp& warp, const Op& op, int lane, std::uint64_t address,
                    std::uint32_t bytes) {
  return resolve_one(warp, op, lane, {.space = Space::cluster, .bytes = bytes, .write = true},
                     address);
}

// Tells the Sanitizer, if there is one, when the store is issued. False after a report.
bool watch(Warp& warp, const Op& op, int lane, const std::byte* to, const std::byte* barrier,
           std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  return sanitizer == nullptr ||
         sanitizer->async_shared(warp, op, lane, sanitizer->by_phase(barrier), to, bytes,
                                 {.space = Space::cluster, .bytes = bytes, .write = true});
}

bool start(Warp& warp, const Op& op, int lane) {
  const BulkTarget target{bulk_operand(warp, op, 0, lane), bulk_operand(warp, op, 3, lane)};
  const StAsyncPayload payload = payload_of(warp, op, lane);
  const std::byte* to = place_of(warp, op, lane, target.address, payload.size);
  if (to == nullptr) return false;
  const std::byte* barrier = place_of(warp, op, lane, target.barrier, 8);
  if (barrier == nullptr || !watch(warp, op, lane, to, barrier, payload.size)) return false;
  warp.cta->cluster().start({&warp,
                             &op,
                             lane,
                             AsyncOperation::no_group,
                             [&warp, &op, lane, target, payload] {
                               std::byte* place =
                                   place_of(warp, op, lane, target.address, payload.size);
                               if (place == nullptr) return;
                               std::memcpy(place, payload.bytes.data(), payload.size);
                               (void)complete_bulk(warp, op, lane, target, payload.size);
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
