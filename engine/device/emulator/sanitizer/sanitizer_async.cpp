#include <algorithm>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// Bulk copies, tensor copies and wgmma. They reach memory through the asynchronous proxy, at any
// time between their issue and the end of a group or of an mbarrier's phase.

namespace fa_tune::emulator {

CompletionToken Sanitizer::by_phase(const Warp& warp, const Op& op, int lane,
                                    const std::byte* mbarrier) {
  PhaseClocks& phases = this->phases(mbarrier);
  const std::uint32_t time = clocks_.time(phases.agent) + 1;
  phases.begun = {&warp, &op, lane, time};
  return {phases.agent, time};
}

CompletionToken Sanitizer::by_group(const Warp& warp, int lane, std::uint32_t group,
                                    AsyncGroupKind kind, const Op& op) {
  Grouped& own = grouped_[static_cast<std::size_t>(kind)][number(warp)];
  const std::uint32_t time = clocks_.advance(own.agent);
  own.parts.push_back({lane, group, time, index_of(op)});
  return {own.agent, time};
}

void Sanitizer::wait_groups(const Warp& warp, int lane, std::uint32_t lanes, std::uint32_t end,
                            AsyncGroupKind kind) {
  Grouped& own = grouped_[static_cast<std::size_t>(kind)][number(warp)];
  std::erase_if(own.parts, [&](const Grouped::Part& part) {
    if (part.lane != lane || part.group >= end) return false;
    clocks_.learn(number(warp), lane_set(warp, lanes), own.agent, part.time);
    return true;
  });
}

bool Sanitizer::async_shared(Warp& warp, const Op& op, int lane, std::uint32_t lanes,
                             const CompletionToken& completion, const std::byte* memory,
                             std::uint32_t bytes, const Access& access, bool by_proxy) {
  const auto ctas = warp.cta->cluster().ctas();
  const auto owner = std::find_if(ctas.begin(), ctas.end(), [&](const auto& cta) {
    const std::span<const std::byte> shared = cta->shared();
    return memory >= shared.data() && memory < shared.data() + shared.size();
  });
  if (owner == ctas.end()) return true;
  const std::size_t rank = (*owner)->rank();
  const auto offset = static_cast<std::size_t>(memory - (*owner)->shared().data());
  current_ = {&warp, &op, &access, nullptr, lanes, owner->get(), true, completion};
  const std::uint32_t own = number(warp);
  if (checks_.races) {
    const Stamp stamp{
        completion.time,
        index_of(op),
        completion.agent,
        static_cast<std::uint8_t>(lane),
        {access.strong() ? MemoryScope::cluster : MemoryScope::none, warp.cta->rank()}};
    // What is written over must be visible to the proxy too, or it might come later than the copy;
    // what was only read need not.
    Viewer view = viewer(own);
    view.by_proxy = by_proxy;
    const bool right = access.write ? cells_[rank].write(view, stamp, offset, bytes, *this)
                                    : cells_[rank].read(view, stamp, lanes, offset, bytes, *this);
    if (!right) return false;
  }
  if (!checks_.initialized) return true;
  InitShadow& map = shared_written_[rank];
  if (access.reads() && !unwritten_ && !map.all(offset, bytes)) {
    const Current at = current_;
    unwritten_ = describe_unwritten(at, lane, Space::shared, kSharedReserved + offset,
                                    map.missing(offset, bytes));
  }
  if (access.write) map.mark(offset, bytes);
  return true;
}

bool Sanitizer::async_global(Warp& warp, const Op& op, int lane, const CompletionToken& completion,
                             std::uint64_t address, std::uint32_t bytes, const Access& access) {
  const Current at{&warp, &op, &access, nullptr, 1U << lane, nullptr, true, completion};
  if (!after_dependencies(at)) return false;
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const auto step =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(16 - address % 16, end - address));
    Access piece = access;
    piece.bytes = step;
    Current part = at;
    part.access = &piece;
    current_ = part;
    if (!check_global(part, lane, address)) return false;
    address += step;
  }
  return true;
}

}  // namespace fa_tune::emulator
