#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/trace/async_trace.hpp"

namespace fa_tune::emulator {

struct SimulatedWarp;

// From one SM of a cluster to another. On an H200 two arrivals, there and back, took 570 and 740
// clocks in two runs, tests of their phases among them
// (tools/bench/results/clock/microbench_h200_products.json, "cluster", has the second).
inline constexpr double kPeerClocks = 250;
// A barrier of a cluster of two CTAs: with 12 warps each 101 clocks on an H200, with one 77
// (microbench_h200_fixed.json, "cluster"; the fence of a release not among them).
inline constexpr double kClusterBarrierClocks = 100;
// What a bulk copy takes beyond a load that L2 answers, and the first one of a launch beyond
// others. Where one block of each SM of an H200 seldom asks, 8, 16 and 32 KB take 360 to 370 clocks
// that do not grow with them, and 370 to 400 by a tensor map (a log, 2026-11-29).
inline constexpr double kBulkClocks = 100;
inline constexpr double kFirstCopyClocks = 100;
// From a launch's begin: so long its CTAs, which begin together, read what they share at the same time.
// Not measured: kernels at 512 keys are over by then.
inline constexpr double kFirstClocks = 10'000;
// How long copies wait for each other later, at most (Meeting). Where four blocks of each of 132
// SMs of an H200 ask for 16 KB at a time, what comes at 36 to 39 bytes a clock comes 350 clocks
// later than where all seldom ask, and at 45 to 53 some 500
// (microbench_h200_copies.json, "by load"), queues at the SM's own port among them. Set on the
// eighth and the tenth seed's kernels of mma.sync.
inline constexpr double kMeetingClocks = 250;
// From a bulk store's last byte that leaves the SM until its thread knows that all are stored. That
// they have been read it learns at about the same time (microbench_h200_fixed.json, "stores").
inline constexpr double kBulkStoreClocks = 65;

// From a test of an mbarrier, or from its phase's end if that is later, until its answer is there:
// samples of Nsight Compute on an H200 lie there for 38 to 45 clocks a test, its issue among them, and
// for none where ptxas has put the test far ahead of the branch that waits for the answer.
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
