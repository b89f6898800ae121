#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"

// What a Sanitizer is told of bulk copies. It is told when they are issued, whenever they complete:
// from then on nothing may touch what they touch until their end is known.

namespace fa_tune::emulator {
namespace {

bool watch_global(Warp& warp, const Op& op, int lane, std::span<const GlobalPiece> pieces,
                  const Access& access) {
  Sanitizer& sanitizer = *warp.cta->sanitizer();
  for (const GlobalPiece& piece : pieces) {
    if (!sanitizer.async_global(warp, op, lane, piece.address, piece.bytes, access)) return false;
  }
  return true;
}

// A reduction reads what it writes.
Access written(const Op& op, Space space, std::uint32_t bytes) {
  return {.space = space,
          .bytes = bytes,
          .write = true,
          .order = op.m[2] == 0 ? MemoryOrder::plain : MemoryOrder::update};
}

}  // namespace

bool watch_bulk_load(Warp& warp, const Op& op, int lane, const std::vector<BulkTarget>& targets,
                     const std::byte* source, std::span<const GlobalPiece> pieces,
                     std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer == nullptr) return true;
  const Access global{.space = Space::global, .bytes = bytes};
  const Access shared{.space = Space::shared, .bytes = bytes};
  if (!watch_global(warp, op, lane, pieces, global)) return false;
  for (const BulkTarget& each : targets) {
    const Access barrier{.space = Space::cluster, .bytes = 8, .write = true};
    const std::byte* mbarrier = resolve_one(warp, op, lane, barrier, each.barrier);
    if (mbarrier == nullptr) return false;
    const CompletionToken end = sanitizer->by_phase(mbarrier);
    if (source != nullptr && !sanitizer->async_shared(warp, op, lane, end, source, bytes, shared)) {
      return false;
    }
    const Access to = written(op, Space::cluster, bytes);
    const std::byte* target = resolve_one(
        warp, op, lane, {.space = Space::cluster, .bytes = bytes, .write = true, .align = 16},
        each.address);
    if (target == nullptr || !sanitizer->async_shared(warp, op, lane, end, target, bytes, to)) {
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
  const CompletionToken end = sanitizer->by_group(warp, lane, group, AsyncGroupKind::bulk, op);
  const Access from{.space = Space::shared, .bytes = bytes};
  return sanitizer->async_shared(warp, op, lane, end, source, bytes, from) &&
         watch_global(warp, op, lane, pieces, written(op, Space::global, bytes));
}

}  // namespace fa_tune::emulator
