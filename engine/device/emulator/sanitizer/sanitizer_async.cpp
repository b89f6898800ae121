#include <algorithm>

#include "engine/device/emulator/cluster.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"

// Bulk copies, tensor copies and wgmma. They reach memory through the asynchronous proxy, at any
// time between their issue and the end of a group or of an mbarrier's phase.

namespace fa_tune::emulator {

Completion Sanitizer::by_phase(const std::byte* mbarrier) {
  const std::uint16_t agent = phases(mbarrier).agent;
  return {agent, clocks_.time(agent) + 1};
}

Completion Sanitizer::by_group(const Warp& warp, AsyncKind kind) {
  auto& agents = group_agents_[static_cast<std::size_t>(kind)];
  if (agents.empty()) agents.resize(clocks_.warps());
  std::uint16_t& agent = agents[number(warp)];
  if (agent == 0) agent = clocks_.add_agent();
  return {agent, clocks_.advance(agent)};
}

bool Sanitizer::async_shared(Warp& warp, const Op& op, int lane, const Completion& completion,
                             const std::byte* memory, std::uint32_t bytes, const Access& access) {
  const auto ctas = warp.cta->cluster().ctas();
  const auto owner = std::find_if(ctas.begin(), ctas.end(), [&](const auto& cta) {
    const std::span<const std::byte> shared = cta->shared();
    return memory >= shared.data() && memory < shared.data() + shared.size();
  });
  if (owner == ctas.end()) return true;
  const std::size_t rank = (*owner)->rank();
  const auto offset = static_cast<std::size_t>(memory - (*owner)->shared().data());
  current_ = {&warp, &op, &access, nullptr, 1U << lane, owner->get(), true};
  const std::uint32_t own = number(warp);
  if (checks_.races) {
    const Stamp stamp{completion.time, index_of(op), completion.agent,
                      static_cast<std::uint8_t>(lane), access.strong()};
    // What is read must have been made visible to the asynchronous proxy; what is written must only
    // not be in use.
    const bool right = access.write ? cells_[rank].write(viewer(own), stamp, offset, bytes, *this)
                                    : cells_[rank].read({Viewer::nobody, &clocks_.proxied(own)},
                                                        stamp, offset, bytes, *this);
    if (!right) return false;
  }
  if (!checks_.initialized) return true;
  InitMap& map = shared_written_[rank];
  if (access.reads() && !unwritten_ && !map.all(offset, bytes)) {
    const Current at = current_;
    note_unwritten(at, lane, Space::shared, shared_reserved + offset, map.missing(offset, bytes));
  }
  if (access.write) map.mark(offset, bytes);
  return true;
}

bool Sanitizer::async_global(Warp& warp, const Op& op, int lane, std::uint64_t address,
                             std::uint32_t bytes, const Access& access) {
  const Current at{&warp, &op, &access, nullptr, 1U << lane, nullptr, true};
  const std::uint64_t end = address + bytes;
  while (address < end) {
    const auto step =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(16 - address % 16, end - address));
    Access piece = access;
    piece.bytes = step;
    Current part = at;
    part.access = &piece;
    if (!check_global(part, lane, address)) return false;
    address += step;
  }
  return true;
}

void Sanitizer::wait_group(const Warp& warp, AsyncKind, const Completion& completion) {
  clocks_.learn(number(warp), completion.agent, completion.time);
}

}  // namespace fa_tune::emulator
