#include <bit>

#include <fmt/format.h>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// Races in global memory: with others of the grid, and with the grids before it.

namespace fa_tune::emulator {

bool Sanitizer::race_global(const Current& at, int lane, std::uint64_t address) {
  const Access& access = *at.access;
  const std::uint32_t warp = number(*at.warp);
  GlobalStamp stamp{static_cast<std::uint32_t>(cluster_),
                    clocks_.time(warp),
                    index_of(*at.op),
                    static_cast<std::uint16_t>(warp),
                    strength_of(*at.warp, access),
                    at.asynchronous};
  if (at.asynchronous) {
    stamp.time = at.completion.time;
    stamp.agent = at.completion.agent;
  }
  current_.mask = 1U << lane;  // of `at`
  GlobalConflict conflict;
  const auto own = static_cast<std::uint32_t>(lane);
  const bool right = access.write
                         ? global_.write(address, access.bytes, stamp, own, *this, conflict)
                         : global_.read(address, access.bytes, stamp, own, *this, conflict);
  if (right) return true;
  if (access.write && conflict.before_writes && !conflict.before.asynchronous) {
    const Allocation* allocation = context_.memory->find(address);
    const std::byte* memory = allocation->bytes + (address - allocation->address);
    if (same_bytes(at, lane, lane, false, memory, 0, access.bytes)) return true;
  }
  report_global_race(at, lane, conflict);
  return false;
}

// Threads of one CTA are not told apart; but a copy of theirs must be known to have ended, and what
// they wrote must be visible to the proxy of a copy.
bool Sanitizer::ordered(const GlobalStamp& before, std::uint32_t before_lane,
                        bool before_writes) const {
  const WarpView& view = clocks_.view(number(*current_.warp));
  const std::uint32_t lanes = 1U << before_lane;
  const bool near = before.cluster == static_cast<std::uint32_t>(cluster_);
  const auto covers = [&](const Horizon& horizon) {
    const Reach* reach = near ? &horizon.here : reach_of(horizon.beyond, before.cluster);
    return reach != nullptr && reach->covers(before.agent, before.time, lanes);
  };
  const bool was_read = !before_writes || (before.asynchronous && current_.access->write);
  const auto knows = [&](const Clock& clock) {
    return covers(clock.known) || (was_read && covers(clock.read));
  };
  const bool own =
      near && !before.asynchronous && before.strength.cta() == current_.warp->cta->rank();
  if (!own && !view.all_know(current_.mask, knows)) return false;
  if (!current_.asynchronous || before.asynchronous || !before_writes) return true;
  constexpr auto kGlobal = static_cast<std::size_t>(ProxySpace::global);
  return view.all_know(current_.mask,
                       [&](const Clock& clock) { return covers(clock.proxied[kGlobal]); });
}

void Sanitizer::wait_dependencies(const Warp& warp, std::uint32_t lanes) {
  Waited& waited = waited_[number(warp)];
  if (waited.lanes == 0) {
    waited.first = lanes;
    waited.time = clocks_.time(number(warp));
  }
  waited.lanes |= lanes;
}

// A thread that has not waited itself may rest on another one's wait that it knows to be over.
bool Sanitizer::after_dependencies(const Current& at) {
  if (!context_.config.programmatic || !checks_.races) return true;
  const std::uint32_t rest = at.mask & ~waited_[number(*at.warp)].lanes;
  if (rest == 0) return true;
  const WarpView& view = clocks_.view(number(*at.warp));
  for (std::uint32_t agent = 0; agent < waited_.size(); ++agent) {
    const Waited& waited = waited_[agent];
    if (waited.lanes != 0 && view.all_know(rest, [&](const Clock& clock) {
          return clock.known.here.covers(static_cast<std::uint16_t>(agent), waited.time,
                                         waited.first);
        }))
      return true;
  }
  at.warp->cta->report(DiagnosticKind::race, *at.warp, *at.op, std::countr_zero(rest),
                       fmt::format("{} global memory before griddepcontrol.wait: the kernel in "
                                   "front of a programmatic launch may not have ended",
                                   at.access->write ? "writes to" : "reads"));
  return false;
}

bool Sanitizer::knows_others() const {
  const WarpView& view = clocks_.view(number(*current_.warp));
  return clocks_.warps() > warps_a_cta_ || view.all_know(current_.mask, [](const Clock& clock) {
    return clock.known.beyond != nullptr;
  });
}

}  // namespace fa_tune::emulator
