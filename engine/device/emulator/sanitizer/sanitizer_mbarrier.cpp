#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// What mbarriers order (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier"): an arrival is .release.cta and a wait .acquire.cta unless they say otherwise.

namespace fa_tune::emulator {
namespace {

bool lies_in(Cta& cta, const std::byte* memory) {
  const std::span<const std::byte> shared = cta.shared();
  return memory >= shared.data() && memory < shared.data() + shared.size();
}

}  // namespace

Sanitizer::PhaseClocks& Sanitizer::phases(const std::byte* mbarrier) {
  const auto [found, is_new] = mbarriers_.try_emplace(mbarrier);
  if (is_new) found->second.agent = clocks_.add_agent();
  return found->second;
}

void Sanitizer::make_mbarrier(const Warp& warp, const Op& op, int lane, const std::byte* mbarrier) {
  if (!checks_.races || !lies_in(*warp.cta, mbarrier)) return;
  const std::uint32_t own = number(warp);
  const Stamp made{clocks_.time(own),
                   index_of(op),
                   static_cast<std::uint16_t>(own),
                   static_cast<std::uint8_t>(lane),
                   {}};
  phases(mbarrier).made = made;
  // use_mbarrier asks who uses it; that counts for no race with this write.
  Stamp strong = made;
  strong.strength = Strength(MemoryScope::cluster, warp.cta->rank());
  const auto offset = static_cast<std::size_t>(mbarrier - warp.cta->shared().data());
  cells_[warp.cta->rank()].finish(made, strong, offset, 8);
}

// Who uses an mbarrier must know that it was made; and before a bulk copy completes on it, its
// initialization must have been made visible to the asynchronous proxy, by fence.mbarrier_init or a
// proxy fence (PTX ISA, "Async proxy" and "membar / fence": fence.mbarrier_init). A launch may do
// without that for the mbarriers of its own block, as Triton's kernels do.
bool Sanitizer::use_mbarrier(Warp& warp, const Op& op, int lane, const std::byte* mbarrier,
                             bool by_proxy) {
  if (!checks_.races) return true;
  const std::optional<Stamp>& made = phases(mbarrier).made;
  if (!made) return true;
  const std::uint32_t own = number(warp);
  const std::uint32_t by = 1U << made->lane;
  const std::uint32_t user = 1U << lane;
  const auto covered = [&](const Horizon& horizon) {
    return horizon.here.covers(made->agent, made->time, by);
  };
  const WarpView& view = clocks_.view(own);
  const bool known =
      (made->agent == own && made->lane == lane) || view.all_know(user, [&](const Clock& clock) {
        return covered(clock.known) || covered(clock.made);
      });
  constexpr auto kShared = static_cast<std::size_t>(ProxySpace::shared);
  const bool near = made->agent / warps_a_cta_ == warp.cta->rank();
  const bool visible = !by_proxy || (checks_.unfenced_mbarriers && near) ||
                       view.all_know(user, [&](const Clock& clock) {
                         return covered(clock.proxied[kShared]) || covered(clock.made);
                       });
  if (known && visible) return true;
  report_unmade(warp, op, lane, *made, known);
  return false;
}

void Sanitizer::add_arrival(const Warp& warp, const LaneSet& lanes, Arrivals& into, bool near,
                            std::uint8_t bits) {
  const std::uint32_t own = number(warp);
  const MemoryScope scope = scope_in(bits);
  if (order_in(bits) == MemoryOrder::releasing) {
    if (near) return clocks_.release(own, lanes, into.near);
    if (scope >= MemoryScope::cluster) return clocks_.release(own, lanes, into.far);
    // What was written before is not published to another CTA; but what was read has been read.
    Clock released;
    clocks_.release(own, lanes, released);
    into.read.join(released.known);
    return;
  }
  // A relaxed one publishes what a fence has covered.
  if (near) {
    clocks_.publish(own, MemoryScope::cta, into.near);
  } else if (scope >= MemoryScope::cluster) {
    clocks_.publish(own, MemoryScope::cluster, into.far);
  }
}

void Sanitizer::arrive_mbarrier(const Warp& warp, int lane, const std::byte* mbarrier,
                                std::uint8_t bits) {
  add_arrival(warp, lane_set(warp, 1U << lane), phases(mbarrier).coming,
              lies_in(*warp.cta, mbarrier), bits);
}

void Sanitizer::complete_mbarrier(const std::byte* mbarrier) {
  PhaseClocks& phases = this->phases(mbarrier);
  phases.over = phases.coming;
  clocks_.advance(phases.agent);
}

void Sanitizer::pass_mbarrier(const Warp& warp, std::uint32_t lanes, const std::byte* mbarrier,
                              std::uint8_t bits) {
  PhaseClocks& phases = this->phases(mbarrier);
  phases.waited = clocks_.time(phases.agent);
  const std::uint32_t own = number(warp);
  const LaneSet who = lane_set(warp, lanes);
  const MemoryScope scope = scope_in(bits);
  if (order_in(bits) == MemoryOrder::acquiring) {
    clocks_.acquire(own, who, phases.over.near);
    if (scope >= MemoryScope::cluster) {
      clocks_.acquire(own, who, phases.over.far);
    } else {
      clocks_.acquire_reads(own, who, phases.over.far.known);
    }
    clocks_.acquire_reads(own, who, phases.over.read);
    clocks_.learn(own, who, phases.agent, clocks_.time(phases.agent));
    return;
  }
  // A relaxed one needs a fence to learn anything.
  Clock ended;
  ended.known.here.add(phases.agent, clocks_.time(phases.agent));
  clocks_.observe(own, who, MemoryScope::cta, ended);
  clocks_.observe(own, who, MemoryScope::cta, phases.over.near);
  if (scope >= MemoryScope::cluster)
    clocks_.observe(own, who, MemoryScope::cluster, phases.over.far);
}

}  // namespace fa_tune::emulator
