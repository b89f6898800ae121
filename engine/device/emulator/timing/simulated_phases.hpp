#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/trace/async_trace.hpp"

namespace fa_tune::emulator {

struct SimulatedWarp;

// From one SM of a cluster to another. On an H200 two arrivals, there and back, took 570 and 740
// clocks in two runs, tests of their phases among them, and a barrier of the cluster 350
// (tools/bench/results/clock/microbench_h200_products.json, "cluster", has the second).
inline constexpr double kPeerClocks = 250;
// What a bulk copy takes beyond a load that L2 answers: a round number, checked on recorded wgmma
// rows as a whole, neither measured nor cited.
inline constexpr double kBulkClocks = 100;

// From a test of an mbarrier whose phase is over until what follows may be issued: samples of
// Nsight Compute on an H200 lie there for 38 to 45 clocks a test, its issue among them.
inline constexpr double kPhaseTestClocks = 35;

// The phases of a CTA's mbarriers while it is simulated: each is done when the last of its signals
// is, and lets go the warps that wait for it and no others.
class SimulatedPhases {
 public:
  struct State {
    std::uint32_t left = 0;  // signals that were not given
    double done = 0;         // when the latest of those given is
    std::vector<SimulatedWarp*> waiting;
  };

  void begin(const std::vector<MbarrierPhase>& recorded) {
    recorded_ = &recorded;
    states_.assign(recorded.size(), {});
    for (std::size_t i = 0; i < recorded.size(); ++i) states_[i].left = recorded[i].signals;
  }
  const MbarrierPhase& recorded(std::uint32_t phase) const { return (*recorded_)[phase]; }
  State& operator[](std::uint32_t phase) { return states_[phase]; }
  bool complete(std::uint32_t phase) const { return states_[phase].left == 0; }
  // True if it was the last one.
  bool signal(std::uint32_t phase, double at) {
    State& state = states_[phase];
    state.done = std::max(state.done, at);
    if (state.left > 0) --state.left;
    return state.left == 0;
  }
  std::vector<State>& all() { return states_; }

 private:
  const std::vector<MbarrierPhase>* recorded_ = nullptr;
  std::vector<State> states_;
};

}  // namespace fa_tune::emulator
