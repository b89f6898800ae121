#include "engine/device/emulator/timing/warpgroup_products.hpp"

#include <algorithm>

namespace fa_tune::emulator {

void WarpgroupProducts::begin(const SimulatedWarp& warp, const SimulatedWarp& first) {
  Progress& own = progress_[number(warp)] = {};
  own.first = number(first);
  if (&warp == &first) groups_[own.first] = {};
  ++groups_[own.first].warps;
}

bool WarpgroupProducts::holds(SimulatedWarp& warp) {
  Progress& own = progress_[number(warp)];
  if (!own.met && own.issued == (own.groups.empty() ? 0 : own.groups.back())) {
    meet(warp);
    return true;
  }
  const bool leads = own.first == number(warp);
  const auto full = leads ? queue_.full_until(own.first, warp.next) : std::nullopt;
  const double from = std::max(own.next_from, full.value_or(0));
  if (from <= warp.next) return false;
  warp.wait(Wait::tensor, from - warp.next);
  warp.next = from;
  return true;
}

void WarpgroupProducts::meet(SimulatedWarp& warp) {
  const double at = warp.next;
  const std::size_t first = progress_[number(warp)].first;
  progress_[number(warp)].stands_from = at;
  warp.next = kNever;
  Warpgroup& group = groups_[first];
  if (++group.standing < group.warps) return;
  group.standing = 0;
  const double clocks = meet_clocks();
  for (std::size_t i = first; i < first + group.warps; ++i) {
    progress_[i].met = true;
    go_on(i, at + clocks);
  }
}

double WarpgroupProducts::meet_clocks() {
  const double drawn = static_cast<double>(draws_()) / static_cast<double>(draws_.max());
  return std::max(kMeetClocks + kMeetSpread * (drawn - 0.5), 0.0);
}

void WarpgroupProducts::go_on(std::size_t warp, double from) {
  warps_[warp].wait(Wait::tensor, from - progress_[warp].stands_from);
  warps_[warp].next = from;
}

void WarpgroupProducts::issue(const SimulatedWarp& warp, const Cost& product, double at) {
  Progress& own = progress_[number(warp)];
  Warpgroup& group = groups_[own.first];
  own.met = false;
  own.next_from = at + ProductQueue::issue_clocks(product);
  if (group.by.size() == own.issued) group.by.push_back(0);
  if (++group.by[own.issued++] < group.warps) return;
  group.ends.push_back(queue_.add(own.first, product, at));
  group.end_clocks = ProductQueue::end_clocks(product);
  for (std::size_t i = own.first; i < own.first + group.warps; ++i) {
    if (!progress_[i].asks) continue;
    progress_[i].asks = false;
    go_on(i, at);
  }
}

void WarpgroupProducts::commit(const SimulatedWarp& warp) {
  Progress& own = progress_[number(warp)];
  own.groups.push_back(own.issued);
}

bool WarpgroupProducts::waits(SimulatedWarp& warp, int depth, double at) {
  Progress& own = progress_[number(warp)];
  const auto until = done(own, depth);
  if (until && *until <= at) return false;
  own.stands_from = at;
  own.asks = !until;
  warp.next = kNever;
  if (until) go_on(number(warp), *until);
  return true;
}

std::optional<double> WarpgroupProducts::done(const Progress& own, int depth) const {
  std::size_t wanted = own.issued;
  if (depth >= 0) {
    const auto kept = static_cast<std::size_t>(depth);
    wanted = own.groups.size() > kept ? own.groups[own.groups.size() - 1 - kept] : 0;
  }
  if (wanted == 0) return 0;
  const Warpgroup& group = groups_[own.first];
  if (group.ends.size() < wanted) return std::nullopt;
  return group.ends[wanted - 1] + group.end_clocks;
}

void WarpgroupProducts::delay(const SimulatedWarp& warp, const Cost& cost, double at) {
  if (warp.partition != 0 || !ProductQueue::competes(cost)) return;
  const auto [after, by] = own_runs(warp, at) ? queue_.delay_own(cost, at) : queue_.delay(at);
  if (by == 0) return;
  for (Warpgroup& group : groups_)
    for (std::size_t i = group.ends.size(); i > 0 && group.ends[i - 1] > after; --i)
      group.ends[i - 1] += by;
}

double WarpgroupProducts::holds_unit(const SimulatedWarp& warp, const Cost& cost, double at) const {
  if (cost.unit != Unit::special) return cost.holds_unit();
  const auto runs = queue_.warpgroup_at(at);
  const bool of_another = runs && *runs != progress_[number(warp)].first;
  return cost.holds_unit() * (of_another ? ProductQueue::kSpecialShare : 1);
}

}  // namespace fa_tune::emulator
