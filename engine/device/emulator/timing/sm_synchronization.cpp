#include "engine/device/emulator/timing/sm_synchronization.hpp"

#include <algorithm>

namespace fa_tune::emulator {

void SmSynchronization::begin_block(std::size_t slot, const BlockTrace& trace) {
  Block& block = blocks_[slot];
  block = {};
  block.warps_left = trace.warps.size();
  block.phases.begin(trace.phases);
}

void SmSynchronization::meet(SimulatedWarp& warp, const SimulatedWarp::Meeting& meeting,
                             double at) {
  Block& block = blocks_[warp.slot];
  Barrier& barrier = block.barriers[meeting.barrier];
  barrier.arrived += 1;
  if (meeting.waits) {
    barrier.waiting.push_back(&warp);
    warp.next = kNever;
  }
  const std::size_t wanted = meeting.warps > 0 ? meeting.warps : block.warps_left;
  if (barrier.arrived >= wanted) release(barrier, at);
}

// `at`: when the last one came.
void SmSynchronization::release(Barrier& barrier, double at) const {
  const double latency = profile_.barrier_latency +
                         profile_.barrier_warp_clocks * static_cast<double>(barrier.arrived);
  for (SimulatedWarp* const warp : barrier.waiting) warp->hold_until(at + latency, Wait::barrier);
  barrier.waiting.clear();
  barrier.arrived = 0;
}

void SmSynchronization::arrive_at_cluster(SimulatedWarp& warp, double at) {
  Block& block = blocks_[warp.slot];
  warp.cluster_round = block.cluster_rounds + 1;
  block.cluster.arrived += 1;
  if (block.cluster.arrived >= block.warps_left) end_cluster_round(block, at);
}

void SmSynchronization::wait_for_cluster(SimulatedWarp& warp) {
  Block& block = blocks_[warp.slot];
  if (block.cluster_rounds >= warp.cluster_round) {
    warp.hold_until(block.cluster_open, Wait::barrier);
    return;
  }
  block.cluster.waiting.push_back(&warp);
  warp.next = kNever;
}

void SmSynchronization::end_cluster_round(Block& block, double at) {
  block.cluster_rounds += 1;
  block.cluster_open = at + kClusterBarrierClocks;
  for (SimulatedWarp* const warp : block.cluster.waiting)
    warp->hold_until(block.cluster_open, Wait::barrier);
  block.cluster.waiting.clear();
  block.cluster.arrived = 0;
}

void SmSynchronization::happen(SimulatedWarp& warp, const AsyncEvent& event, double at,
                               bool coded) {
  switch (event.kind) {
    case AsyncEvent::Kind::wait:
      pass(warp, event.phase, coded);
      break;
    case AsyncEvent::Kind::arrive:
      signal(warp, event.phase, at + profile_.shared_latency);
      break;
    case AsyncEvent::Kind::arrive_copies:
      signal(warp, event.phase, std::max(at, warp.copies.all_but(-1)) + profile_.shared_latency);
      break;
    case AsyncEvent::Kind::load:
      signal(warp, event.phase, load_bytes(event.bytes, event.receivers, at));
      break;
    case AsyncEvent::Kind::peer:
      signal(warp, event.phase, l2_.move(event.bytes, at) + kPeerClocks);
      break;
    case AsyncEvent::Kind::store: {
      const double done = l2_.store(event.bytes, at) + kBulkStoreClocks;
      warp.bulk_reads.add(done);
      warp.bulk_writes.add(done);
      stored_ = std::max(stored_, done);
      double& of_block = blocks_[warp.slot].stored;
      of_block = std::max(of_block, done + profile_.l2_latency);
      break;
    }
    case AsyncEvent::Kind::barrier:
      break;  // SimulatedWarp::meeting
  }
}

void SmSynchronization::pass(SimulatedWarp& warp, std::uint32_t number, bool coded) {
  SimulatedPhases& phases = blocks_[warp.slot].phases;
  if (phases.complete(number)) {
    if (!coded || phases[number].done > warp.free) resume(warp, phases, number);
    return;
  }
  phases[number].waiting.push_back(&warp);
  warp.parked = true;
  warp.next = kNever;
}

void SmSynchronization::resume(SimulatedWarp& warp, SimulatedPhases& phases, std::uint32_t number) {
  const MbarrierPhase& recorded = phases.recorded(number);
  const bool copies = recorded.own_bytes > 0 || recorded.peer_bytes > 0;
  warp.parked = false;
  const Wait cause = copies ? Wait::async : Wait::barrier;
  warp.hold_until(phases[number].done, cause);
  warp.hold_until(warp.free + kPhaseTestClocks, cause);
}

void SmSynchronization::signal(const SimulatedWarp& warp, std::uint32_t number, double at) {
  SimulatedPhases& phases = blocks_[warp.slot].phases;
  if (number == kNoPhase || !phases.signal(number, at)) return;
  const MbarrierPhase& recorded = phases.recorded(number);
  SimulatedPhases::State& state = phases[number];
  // Another CTA of the cluster does at the same time what this one does. What it alone sends
  // comes after this one is ready for it.
  if (recorded.peer_arrivals) state.done += kPeerClocks;
  if (recorded.peer_bytes > 0 && recorded.own_bytes == 0)
    state.done = load_bytes(static_cast<double>(recorded.peer_bytes), 1, state.done);
  let_go(phases, number);
}

void SmSynchronization::let_go(SimulatedPhases& phases, std::uint32_t number) {
  for (SimulatedWarp* const warp : phases[number].waiting) resume(*warp, phases, number);
  phases[number].waiting.clear();
}

double SmSynchronization::load_bytes(double bytes, double receivers, double at) {
  if (first_copy_ < 0) first_copy_ = at + kFirstCopyClocks;
  const bool in_step = work_.resident == 1;
  const Meeting meeting = at < kFirstClocks
                              ? Meeting{work_.bulk_gain.at_first, 0}
                              : Meeting{work_.bulk_gain.later, in_step ? 0 : kMeetingClocks};
  return l2_.move_to_all(bytes, receivers, meeting, at) + std::max(first_copy_ - at, 0.0) +
         profile_.l2_latency + work_.copies_dram_clocks + kBulkClocks;
}

bool SmSynchronization::leave(const SimulatedWarp& warp) {
  Block& block = blocks_[warp.slot];
  block.warps_left -= 1;
  if (block.warps_left == 0) return true;
  for (Barrier& barrier : block.barriers)
    if (!barrier.waiting.empty() && barrier.arrived >= block.warps_left)
      release(barrier, warp.free);
  if (!block.cluster.waiting.empty() && block.cluster.arrived >= block.warps_left)
    end_cluster_round(block, warp.free);
  return false;
}

bool SmSynchronization::release_stuck(double at) {
  bool any = false;
  for (Block& block : blocks_) {
    for (Barrier& barrier : block.barriers) {
      if (barrier.waiting.empty()) continue;
      release(barrier, at);
      any = true;
    }
    if (!block.cluster.waiting.empty()) {
      end_cluster_round(block, at);
      any = true;
    }
    for (std::uint32_t i = 0; i < block.phases.all().size(); ++i) {
      SimulatedPhases::State& state = block.phases[i];
      if (state.waiting.empty()) continue;
      state.done = std::max(state.done, at);
      let_go(block.phases, i);
      any = true;
    }
  }
  return any;
}

}  // namespace fa_tune::emulator
