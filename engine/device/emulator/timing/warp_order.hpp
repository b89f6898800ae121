#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/warpgroup_products.hpp"

namespace fa_tune::emulator {

// Which of several warps goes first that may issue in the same clock.
//
// An H200's CTAs that multiply by mma.sync go on one after the other, if one pauses the first of those
// that wait, and bursts of 64 products with pauses between them keep out of each other's way from the
// second on (tools/bench/results/clock/microbench_h200_scheduling.json): `cta_first`.
//
// Beside products of warpgroups (wgmma) no one order holds. Two warps of a partition with streams of
// exponentials, of maxima or of softmax each get half. Of two with independent FMAs one has all until
// it ends, if it came 9 clocks earlier, or each gets half, if they came together. And of two with
// softmax the one whose own warpgroup's product runs gets a third
// (microbench_h200_sharing.json). Two warpgroups of a kernel fall into one step or another by that,
// and a GPU's CTAs of one kernel can do both. So such a kernel is simulated in two orders that
// bound this, and takes the mean of their times:
// - `in_turn`: who has waited longest goes first;
// - `goes_on`: whom the partition issued for last goes on, unless it had to wait for its unit; those
//   whose own product runs come last.
class WarpOrder {
 public:
  // `cta_rank`, by place on the SM: how many CTAs had begun before its own. It outlives this.
  WarpOrder(IssueOrder order, const std::vector<std::uint64_t>& cta_rank)
      : order_(order), cta_rank_(cta_rank) {}

  void issued(const SimulatedWarp& warp) { last_[warp.partition] = &warp; }
  // Whether `a` goes before `b`, which may issue at the same time.
  bool before(const SimulatedWarp& a, const SimulatedWarp& b, WarpgroupProducts& products) const {
    if (order_ == IssueOrder::in_turn) return a.issued < b.issued;
    const bool beside_products = order_ == IssueOrder::goes_on;
    if (beside_products) {
      const bool a_own = products.own_runs(a, a.next);
      if (a_own != products.own_runs(b, b.next)) return !a_own;
    }
    const auto goes_on = [&](const SimulatedWarp& warp) {
      return last_[warp.partition] == &warp && !(beside_products && warp.held_up);
    };
    if (goes_on(a) != goes_on(b)) return goes_on(a);
    const std::uint64_t rank = cta_rank_[a.slot];
    const std::uint64_t other = cta_rank_[b.slot];
    return beside_products || rank == other ? a.issued < b.issued : rank < other;
  }

 private:
  IssueOrder order_;
  const std::vector<std::uint64_t>& cta_rank_;
  std::array<const SimulatedWarp*, kPartitions> last_{};
};

}  // namespace fa_tune::emulator
