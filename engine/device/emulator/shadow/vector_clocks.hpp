#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/emulator/shadow/horizon.hpp"

namespace fa_tune::emulator {

// Lanes of a warp that do something; `all`: no others run.
struct LaneSet {
  std::uint32_t mask = kFullMask;
  bool all = true;
};

// Whose writes a proxy fence makes visible to the asynchronous proxy: Clock::proxied.
enum class ProxySpace : std::uint8_t { shared, global };

// What a warp's lanes know alike, and what some know besides, since they alone have waited for it.
struct WarpView {
  struct Apart {
    std::uint32_t lanes = 0;
    Clock clock;
  };
  Clock alike;
  std::vector<Apart> apart;

  // Whether all of `lanes` know what `knows(clock)` asks.
  template <class Knows>
  bool all_know(std::uint32_t lanes, Knows&& knows) const {
    if (knows(alike)) return true;
    if (apart.empty()) return false;
    for (const Apart& each : apart) {
      if ((lanes & each.lanes) != 0 && knows(each.clock)) lanes &= ~each.lanes;
    }
    return lanes == 0;
  }
};

// Who acts on the memory of a cluster: its warps, numbered through all CTAs, and whatever is added:
// the phases of an mbarrier, a warp's wgmma groups. An agent's time counts its releases; what it
// did at time t is ordered before what warp w does now if w knows t of it (vector clocks: Mattern
// 1989; the shortcut of comparing one component: Flanagan and Freund, FastTrack, PLDI 2009). A warp
// knows of itself what it did before its lanes last met; a lane knows of its own accesses besides.
class VectorClocks {
 public:
  explicit VectorClocks(std::uint32_t warps);

  // Another CTA or cluster begins in the same place: everything so far is ordered before it.
  // Agents and times stay, so that what has been recorded grows old without being erased.
  void restart();

  std::uint16_t add_agent();
  std::uint32_t warps() const { return static_cast<std::uint32_t>(views_.size()); }

  std::uint32_t time(std::uint32_t agent) const { return times_[agent]; }
  const WarpView& view(std::uint32_t warp) const { return views_[warp]; }

  // A warp's lanes have met.
  void converge(std::uint32_t warp);
  // Adds all that the lanes know and did to `into`, then begins the warp's next time.
  void release(std::uint32_t warp, const LaneSet& lanes, Clock& into);
  // Adds what a fence of `scope` has covered, as known, and what fence.mbarrier_init has: what a
  // relaxed operation publishes.
  void publish(std::uint32_t warp, MemoryScope scope, Clock& into) const;
  void acquire(std::uint32_t warp, const LaneSet& lanes, const Clock& from);
  // Of what was published, only that it has been read.
  void acquire_reads(std::uint32_t warp, const LaneSet& lanes, const Horizon& from);
  // What a strong read finds: known after a fence of `scope`.
  void observe(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope, const Clock& from);
  // A fence of `scope` by the lanes, which both acquires and releases.
  void fence(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope);
  // What the lanes observed is known: an acquire.
  void settle(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope);
  // What the lanes know and did can be published: a release.
  void cover(std::uint32_t warp, const LaneSet& lanes, MemoryScope scope);
  void fence_proxy(std::uint32_t warp, const LaneSet& lanes, ProxySpace space);
  void fence_made(std::uint32_t warp, const LaneSet& lanes);

  // For agents that were added: their next time, which the caller gives to what completes then.
  std::uint32_t advance(std::uint32_t agent) { return ++times_[agent]; }
  void learn(std::uint32_t warp, const LaneSet& lanes, std::uint16_t agent, std::uint32_t time);

 private:
  // Where what these lanes alone learn is kept.
  Clock& clock_of(std::uint32_t warp, const LaneSet& lanes);
  // Adds what the lanes did and know to `into`.
  void add_own(std::uint32_t warp, const LaneSet& lanes, Horizon& into) const;

  Times times_;  // of all agents
  std::vector<WarpView> views_;
};

}  // namespace fa_tune::emulator
