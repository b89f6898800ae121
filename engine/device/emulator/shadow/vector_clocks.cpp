#include "engine/device/emulator/shadow/vector_clocks.hpp"

#include <utility>

namespace fa_tune::emulator {
namespace {

// As many as there are up to `scope`.
std::span<Horizon> up_to(std::array<Horizon, kScopes>& levels, MemoryScope scope) {
  return std::span(levels).first(static_cast<std::size_t>(scope));
}

}  // namespace

VectorClocks::VectorClocks(std::uint32_t warps) : times_(warps, 1), views_(warps) {
  for (WarpView& view : views_) view.alike.known.here = Reach(Times(warps));
}

void VectorClocks::restart() {
  for (WarpView& view : views_) {
    view.apart.clear();
    view.alike.clear();
    view.alike.known.here = Reach(times_);
    for (Horizon& space : view.alike.proxied) space.here = Reach(times_);
  }
  for (std::uint32_t warp = 0; warp < warps(); ++warp) ++times_[warp];
}

std::uint16_t VectorClocks::add_agent() {
  times_.push_back(0);
  return static_cast<std::uint16_t>(times_.size() - 1);
}

void VectorClocks::converge(std::uint32_t warp) {
  WarpView& view = views_[warp];
  for (const WarpView::Apart& each : view.apart) join(view.alike, each.clock);
  view.apart.clear();
  view.alike.known.here.add(static_cast<std::uint16_t>(warp), times_[warp]++);
}

Clock& VectorClocks::clock_of(std::uint32_t warp, const LaneSet& lanes) {
  WarpView& view = views_[warp];
  if (lanes.all) return view.alike;
  for (WarpView::Apart& each : view.apart) {
    if (each.lanes == lanes.mask) return each.clock;
  }
  view.apart.push_back({lanes.mask, {}});
  return view.apart.back().clock;
}

void VectorClocks::add_own(std::uint32_t warp, const LaneSet& lanes, Horizon& into) const {
  const auto agent = static_cast<std::uint16_t>(warp);
  if (lanes.all) {
    into.here.add(agent, times_[warp]);
  } else {
    into.here.add_lanes(agent, times_[warp], lanes.mask);
  }
  into.join(views_[warp].alike.known);
  for (const WarpView::Apart& each : views_[warp].apart) {
    if ((each.lanes & lanes.mask) != 0) into.join(each.clock.known);
  }
}

void VectorClocks::release(std::uint32_t warp, const LaneSet& lanes, Clock& into) {
  add_own(warp, lanes, into.known);
  join(into, views_[warp].alike);
  for (const WarpView::Apart& each : views_[warp].apart) {
    if ((each.lanes & lanes.mask) != 0) join(into, each.clock);
  }
  ++times_[warp];
}

void VectorClocks::publish(std::uint32_t warp, MemoryScope scope, Clock& into) const {
  const auto level = static_cast<std::size_t>(scope) - 1;
  const Clock& own = views_[warp].alike;
  into.known.join(own.fenced[level]);
  for (std::size_t i = 0; i <= level; ++i) into.fenced[i].join(own.fenced[level]);
  for (std::size_t i = 0; i < own.proxied.size(); ++i) into.proxied[i].join(own.proxied[i]);
  into.made.join(own.made);
}

void VectorClocks::acquire(std::uint32_t warp, const LaneSet& lanes, const Clock& from) {
  join(clock_of(warp, lanes), from);
}

void VectorClocks::acquire_reads(std::uint32_t warp, const LaneSet& lanes, const Horizon& from) {
  if (!from.empty()) clock_of(warp, lanes).read.join(from);
}

void VectorClocks::observe(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope,
                           const Clock& from) {
  if (views_[warp].alike.known.includes(from.known)) return;
  Clock& clock = clock_of(warp, lanes);
  clock.observed[static_cast<std::size_t>(scope) - 1].join(from.known);
  for (std::size_t i = 0; i < from.proxied.size(); ++i) clock.proxied[i].join(from.proxied[i]);
}

void VectorClocks::settle(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope) {
  WarpView& view = views_[warp];
  for (WarpView::Apart& each : view.apart) {
    if ((each.lanes & lanes.mask) == 0) continue;
    for (Horizon& level : up_to(each.clock.observed, scope)) {
      each.clock.known.join(level);
      level.clear();
    }
  }
  Horizon found;
  for (Horizon& level : up_to(view.alike.observed, scope)) {
    found.join(level);
    if (lanes.all) level.clear();
  }
  if (!found.empty()) clock_of(warp, lanes).known.join(found);
}

void VectorClocks::fence(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope) {
  settle(warp, lanes, scope);
  cover(warp, lanes, scope);
}

void VectorClocks::cover(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope) {
  Horizon own;
  add_own(warp, lanes, own);
  for (Horizon& level : up_to(views_[warp].alike.fenced, scope)) level.join(own);
  ++times_[warp];
}

void VectorClocks::fence_proxy(std::uint32_t warp, const LaneSet& lanes, ProxySpace space) {
  Horizon own;
  add_own(warp, lanes, own);
  views_[warp].alike.proxied[static_cast<std::size_t>(space)].join(own);
  ++times_[warp];
}

void VectorClocks::fence_made(std::uint32_t warp, const LaneSet& lanes) {
  views_[warp].alike.made.here.add_lanes(static_cast<std::uint16_t>(warp), times_[warp]++,
                                         lanes.mask);
}

void VectorClocks::learn(std::uint32_t warp, const LaneSet& lanes, std::uint16_t agent,
                         std::uint32_t time) {
  clock_of(warp, lanes).known.here.add(agent, time);
}

}  // namespace fa_tune::emulator
