#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa_tune::emulator {

// A moment as each agent's own time: who has joined it knows all that an agent did up to then.
using Times = std::vector<std::uint32_t>;

// What a warp knows; and of that, what a proxy fence has made visible to the asynchronous proxy
// (PTX ISA, "Proxies": bulk copies and wgmma reach memory by another way than ld and st do).
struct Clock {
  Times known;
  Times proxied;

  bool empty() const { return known.empty(); }
  void clear() {
    known.clear();
    proxied.clear();
  }
};

void join(Clock& into, const Clock& from);

// Who acts on the memory of a cluster: its warps, numbered through all CTAs, and whatever is added:
// the phases of an mbarrier, a warp's wgmma groups. An agent's time counts its releases; what it
// did at time t is ordered before what warp w does now if w knows t of it (vector clocks: Mattern
// 1989; the shortcut of comparing one component: Flanagan and Freund, FastTrack, PLDI 2009).
class VectorClocks {
 public:
  explicit VectorClocks(std::uint32_t warps);

  // Another CTA or cluster begins in the same place: everything so far is ordered before it.
  // Agents and times stay, so that what has been recorded grows old without being erased.
  void restart();

  std::uint16_t add_agent();
  std::uint32_t warps() const { return static_cast<std::uint32_t>(clocks_.size()); }

  std::uint32_t time(std::uint32_t agent) const { return times_[agent]; }
  // What a warp knows, by agent; its own component is its own time.
  const Clock& clock(std::uint32_t warp) const { return clocks_[warp]; }
  const Times& known(std::uint32_t warp) const { return clocks_[warp].known; }
  const Times& proxied(std::uint32_t warp) const { return clocks_[warp].proxied; }

  // A warp's lanes have met, or what it did is published: what it does from now on is told apart.
  void tick(std::uint32_t warp) { clocks_[warp].known[warp] = ++times_[warp]; }
  // Adds all that the warp knows to `into`, then begins its next time.
  void release(std::uint32_t warp, Clock& into);
  void acquire(std::uint32_t warp, const Clock& from) { join(clocks_[warp], from); }
  void fence_proxy(std::uint32_t warp);

  // For agents that were added: their next time, which the caller gives to what completes then.
  std::uint32_t advance(std::uint32_t agent) { return ++times_[agent]; }
  void learn(std::uint32_t warp, std::uint32_t agent, std::uint32_t time) {
    Clock& clock = clocks_[warp];
    clock.known[agent] = std::max(clock.known[agent], time);
    clock.proxied[agent] = std::max(clock.proxied[agent], time);
  }

 private:
  Times times_;                // of all agents
  std::vector<Clock> clocks_;  // of the warps
};

}  // namespace fa_tune::emulator
