#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/simulated_phases.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// Where warps of a simulated SM wait for each other and for bulk copies: barriers of a CTA and of
// its cluster, mbarriers. Warps must outlive it and stay where they are. Times in clocks.
class SmSynchronization {
 public:
  // `l2`, `profile` and `work` must outlive it.
  SmSynchronization(const DeviceProfile& profile, const SmWork& work, L2Link& l2)
      : profile_(profile),
        work_(work),
        l2_(l2),
        blocks_(static_cast<std::size_t>(std::max(work.resident, 1))) {}

  // A CTA takes this place of the SM.
  void begin_block(std::size_t slot, const BlockTrace& trace);
  // The warp comes to a barrier of its CTA, and may be held there.
  void meet(SimulatedWarp& warp, const SimulatedWarp::Meeting& meeting, double at);
  // barrier.cluster.arrive and barrier.cluster.wait. Only the CTA's own warps are waited for: those
  // of the cluster's others are taken to do the same at the same time.
  void arrive_at_cluster(SimulatedWarp& warp, double at);
  void wait_for_cluster(SimulatedWarp& warp);
  // What an instruction does to mbarriers, and bulk copies.
  // `coded`: machine code, of which something else waits for the answer of a test.
  void happen(SimulatedWarp& warp, const AsyncEvent& event, double at, bool coded);
  // The warp has ended. True if it was the last of its CTA.
  bool leave(const SimulatedWarp& warp);
  // When all that bulk copies have stored is in L2.
  double stored() const { return stored_; }
  // When a fence of the CTA in that place is past its bulk stores; 0: it has none.
  double stored_of(std::size_t slot) const { return blocks_[slot].stored; }
  // Barriers that nobody completes, because that part of a trace was not kept. False: none.
  bool release_stuck(double at);

 private:
  static constexpr std::size_t kBlockBarriers = 16;

  struct Barrier {
    std::size_t arrived = 0;
    std::vector<SimulatedWarp*> waiting;
  };
  struct Block {
    std::size_t warps_left = 0;
    double stored = 0;
    std::array<Barrier, kBlockBarriers> barriers;
    Barrier cluster;
    std::size_t cluster_rounds = 0;  // that are over
    double cluster_open = 0;         // when the last one was
    SimulatedPhases phases;
  };

  void release(Barrier& barrier, double at) const;
  void end_cluster_round(Block& block, double at);
  void pass(SimulatedWarp& warp, std::uint32_t number, bool coded);
  void resume(SimulatedWarp& warp, SimulatedPhases& phases, std::uint32_t number);
  void signal(const SimulatedWarp& warp, std::uint32_t number, double at);
  void let_go(SimulatedPhases& phases, std::uint32_t number);
  double load_bytes(double bytes, double receivers, double at);

  const DeviceProfile& profile_;
  const SmWork& work_;
  L2Link& l2_;
  std::vector<Block> blocks_;  // by slot
  double stored_ = 0;
  // From when the first bulk copy is under way; below zero: there was none.
  double first_copy_ = -1;
};

}  // namespace fa_tune::emulator
