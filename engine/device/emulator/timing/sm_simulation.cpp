#include "engine/device/emulator/timing/sm_simulation.hpp"

#include <algorithm>

#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/op_traffic.hpp"
#include "engine/device/emulator/timing/recorded_work.hpp"
#include "engine/device/emulator/timing/shared_memory.hpp"
#include "engine/device/emulator/timing/simulated_phases.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"
#include "engine/device/emulator/timing/tensor_contention.hpp"

namespace fa_tune::emulator {
namespace {

// Instructions that a simulation looks at: some 50 ms.
constexpr std::uint64_t kMostInstructions = 600'000;
// Spills are in the machine code alone, out of sight of an emulator of PTX, and where they happen
// is not known: taken to be once between two barriers. Each word, stored or loaded, then costs:
constexpr double kSpillClocks = 7;
// From when its unit takes an instruction until that has read its operands. Assumed.
constexpr double kReadClocks = 8;
// Of a warp's access to local memory: a word a thread.
constexpr double kSpillBytes = 4.0 * kWarpSize;

class Simulation {
 public:
  Simulation(const MachineCode& code, const Record& record, const DeviceProfile& profile,
             const SmWork& work)
      : code_(code),
        record_(record),
        profile_(profile),
        work_(work),
        recorded_(record, work.grid, work.sms, work.resident),
        per_op_(traffic_per_execution(code, record)),
        l2_(work.l2_bytes_per_clock, work.l2_port_bytes_per_clock) {
    spill_clocks_ = work.spilled_words * kSpillClocks;
  }

  SmTime run() {
    std::size_t warps = 1;
    for (const BlockTrace& block : record_.blocks()) warps = std::max(warps, block.warps.size());
    blocks_.resize(static_cast<std::size_t>(std::max(work_.resident, 1)));
    warps_.resize(blocks_.size() * warps);
    for (SimulatedWarp& warp : warps_) warp.live.resize(code_.live_values);
    for (std::size_t slot = 0; slot < blocks_.size() && begun_ < recorded_.count(); ++slot) {
      begin_block(slot, static_cast<double>(slot) * profile_.block_start_clocks);
    }
    while (instructions_ < kMostInstructions) {
      SimulatedWarp* const warp = earliest();
      if (warp != nullptr) {
        advance(*warp);
      } else if (!release_stuck()) {
        break;
      }
    }
    return summary();
  }

 private:
  void begin_block(std::size_t slot, double at) {
    const BlockTrace& trace = recorded_.trace_of(begun_++);
    SimulatedBlock& block = blocks_[slot];
    block = {};
    block.warps_left = trace.warps.size();
    block.phases.begin(trace.phases);
    const std::size_t first = slot * (warps_.size() / blocks_.size());
    for (std::size_t i = 0; i < trace.warps.size(); ++i) {
      SimulatedWarp& warp = warps_[first + i];
      warp.begin_trace(trace.warps[i], at);
      warp.slot = slot;
      warp.partition = next_partition_++ % kPartitions;
      warps_begun_ += 1;
    }
  }

  SimulatedWarp* earliest() {
    SimulatedWarp* best = nullptr;
    double least = kNever;
    for (SimulatedWarp& warp : warps_) {
      if (warp.next < least) {
        least = warp.next;
        best = &warp;
      }
    }
    return best;
  }

  // When the unit of the warp's partition is free again.
  double* unit_of(const SimulatedWarp& warp, const Cost& cost) {
    auto& free = unit_free_[warp.partition];
    double* const own = &free[static_cast<std::size_t>(cost.unit)];
    if (!cost.either) return own;
    double* const fma = &free[static_cast<std::size_t>(Unit::fma)];
    return *fma < *own ? fma : own;
  }

  // Brings the warp one step further: to its next instruction, or to the time when that may issue,
  // or issues it.
  void advance(SimulatedWarp& warp) {
    if (!warp.ready) {
      warp.ready = warp.find_next(code_);
      if (warp.ready) wait(warp.input.cause, warp.next - warp.free);
      if (!warp.ready) finish(warp);
      return;
    }
    const Step& step = warp.block->steps[warp.step];
    const Cost& cost = code_.costs[step.cost];
    const double scheduler = scheduler_free_[warp.partition];
    // wgmma goes into a queue of its own.
    double unit = cost.role == Role::tensor_async ? 0 : *unit_of(warp, cost);
    if (cost.unit == Unit::memory) unit = std::max(unit, memory_.open_from());
    const double at = std::max(scheduler, unit);
    if (at > warp.next) {
      const Wait busy = cost.unit == Unit::memory ? Wait::shared : Wait::unit;
      wait(unit > scheduler ? busy : Wait::issue, at - warp.next);
      warp.next = at;
      return;
    }
    issue(warp, step, cost, warp.next);
  }

  void wait(Wait cause, double clocks) { waits_[static_cast<std::size_t>(cause)] += clocks; }

  // Until its products are done, which what is issued meanwhile may delay: asked again then.
  bool waits_for_products(SimulatedWarp& warp, const Cost& cost, double at) {
    const double until = warp.products.all_but(cost.depth);
    if (until <= at) return false;
    wait(Wait::tensor, until - at);
    warp.next = until;
    return true;
  }

  void delay_products(const SimulatedWarp& issuing, const Cost& cost, double at) {
    double& until = products_until_[issuing.partition];
    if (until <= at) return;
    const double by = delay_of_products(cost);
    until += by;
    unit_free_[issuing.partition][static_cast<std::size_t>(Unit::tensor)] = until;
    for (SimulatedWarp& warp : warps_)
      if (warp.partition == issuing.partition) warp.products.delay(at, by);
  }

  void issue(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    if (cost.role == Role::tensor_wait && waits_for_products(warp, cost, at)) return;
    if (cost.role != Role::tensor_async) delay_products(warp, cost, at);
    const double slots = cost.issues * work_.clocks_per_issue;
    scheduler_free_[warp.partition] = at + slots;
    issues_ += cost.issues;
    instructions_ += 1;
    warp.free = at + std::max(slots, static_cast<double>(step.stall));
    wait(Wait::arithmetic, warp.free - at - slots);
    Result result{at + cost.latency, Wait::arithmetic};
    double busy = cost.busy;
    if (cost.unit == Unit::memory) {
      const double wavefronts =
          step.acts ? std::max(per_op_[step.op].wavefronts * step.share, 1.0) : 1.0;
      busy *= wavefronts;
      const SharedMemory::Access access = memory_.access(at, cost.busy, busy);
      *unit_of(warp, cost) = access.port_free;
      result = {access.last + cost.latency, Wait::shared};
      if (cost.role == Role::local && work_.spills_leave_l1)
        result = {l2_.move(kSpillBytes, at) + profile_.l2_latency, Wait::global};
    } else {
      double& free = *unit_of(warp, cost);
      free = std::max(free, at) + busy;
      if (cost.unit == Unit::special) result.cause = Wait::special;
      if (cost.unit == Unit::tensor) result.cause = Wait::tensor;
    }
    busy_[static_cast<std::size_t>(cost.unit)] += busy;
    warp.done[warp.step] = result;
    warp.next = warp.free;
    warp.ready = false;
    if (step.acts) act(warp, step, cost, at);
    if (step.is_machine) {
      warp.hold_barrier(step.write_barrier, warp.done[warp.step]);
      warp.hold_barrier(step.read_barrier, {*unit_of(warp, cost) + kReadClocks, Wait::shared});
    }
    ++warp.step;
  }

  double move_sectors(double sectors, double at) { return l2_.move(sectors * kSectorBytes, at); }

  void act(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    switch (cost.role) {
      case Role::global_read:
        warp.done[warp.step] = {
            move_sectors(per_op_[step.op].sectors * step.share, at) + cost.latency, Wait::global};
        break;
      case Role::global_write:
        move_sectors(per_op_[step.op].sectors * step.share, at);
        break;
      case Role::async_copy:
        warp.copies.add(move_sectors(per_op_[step.op].sectors * step.share, at) +
                        profile_.l2_latency);
        break;
      case Role::async_commit:
        warp.copies.commit();
        break;
      case Role::async_wait:
        hold_until(warp, warp.copies.all_but(cost.depth), Wait::async);
        break;
      case Role::tensor_async:
        // Its sums are not waited for by name, but by group.
        products_until_[warp.partition] = *unit_of(warp, cost);
        warp.products.add(*unit_of(warp, cost) + cost.latency);
        warp.done[warp.step] = {at, Wait::tensor};
        break;
      case Role::tensor_commit:
        warp.products.commit();
        break;
      case Role::traced:
        for (const AsyncEvent& event : warp.events()) happen(warp, event, at);
        break;
      case Role::bulk_commit:
        warp.bulk_reads.commit();
        warp.bulk_writes.commit();
        break;
      case Role::bulk_wait: {
        const Groups& groups = cost.reads_only ? warp.bulk_reads : warp.bulk_writes;
        hold_until(warp, groups.all_but(cost.depth), Wait::async);
        break;
      }
      case Role::cluster_wait:
        hold_until(warp, at + kPeerClocks, Wait::barrier);
        break;
      case Role::barrier:
        warp.free += spill_clocks_;
        arrive(warp, warp.meeting(cost), at);
        break;
      default:
        break;
    }
  }

  void happen(SimulatedWarp& warp, const AsyncEvent& event, double at) {
    switch (event.kind) {
      case AsyncEvent::Kind::wait:
        pass(warp, event.phase);
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
        const double gone = l2_.move(event.bytes, at) + profile_.shared_latency;
        warp.bulk_reads.add(gone);
        warp.bulk_writes.add(gone + profile_.l2_latency);
        break;
      }
      case AsyncEvent::Kind::barrier:
        break;  // SimulatedWarp::meeting
    }
  }

  void pass(SimulatedWarp& warp, std::uint32_t number) {
    SimulatedPhases& phases = blocks_[warp.slot].phases;
    if (phases.complete(number)) {
      resume(warp, phases, number);
      return;
    }
    phases[number].waiting.push_back(static_cast<std::size_t>(&warp - warps_.data()));
    warp.parked = true;
    warp.next = kNever;
  }

  void resume(SimulatedWarp& warp, SimulatedPhases& phases, std::uint32_t number) {
    const MbarrierPhase& recorded = phases.recorded(number);
    const bool copies = recorded.own_bytes > 0 || recorded.peer_bytes > 0;
    warp.parked = false;
    const Wait cause = copies ? Wait::async : Wait::barrier;
    hold_until(warp, phases[number].done, cause);
    hold_until(warp, warp.free + kPhaseTestClocks, cause);
  }

  void signal(const SimulatedWarp& warp, std::uint32_t number, double at) {
    SimulatedPhases& phases = blocks_[warp.slot].phases;
    if (number == kNoPhase || !phases.signal(number, at)) return;
    const MbarrierPhase& recorded = phases.recorded(number);
    SimulatedPhases::State& state = phases[number];
    // Another CTA of the cluster does at the same time what this one does. What it alone sends
    // comes after this one is ready for it.
    if (recorded.peer_arrivals) state.done += kPeerClocks;
    if (recorded.peer_bytes > 0 && recorded.own_bytes == 0) {
      state.done = load_bytes(static_cast<double>(recorded.peer_bytes), 1, state.done);
    }
    let_go(phases, number);
  }

  void let_go(SimulatedPhases& phases, std::uint32_t number) {
    for (const std::size_t index : phases[number].waiting) resume(warps_[index], phases, number);
    phases[number].waiting.clear();
  }

  double load_bytes(double bytes, double receivers, double at) {
    return l2_.move_to_all(bytes / work_.bulk_gain, receivers, at) + profile_.l2_latency +
           kBulkClocks;
  }

  void hold_until(SimulatedWarp& warp, double at, Wait cause) {
    if (at > warp.free) {
      wait(cause, at - warp.free);
      warp.free = at;
    }
    warp.next = warp.free;
  }

  void arrive(SimulatedWarp& warp, const SimulatedWarp::Meeting& meeting, double at) {
    SimulatedBlock& block = blocks_[warp.slot];
    block.arrived[meeting.barrier] += 1;
    if (meeting.waits) {
      block.waiting[meeting.barrier].push_back(static_cast<std::size_t>(&warp - warps_.data()));
      warp.next = kNever;
    }
    const std::size_t wanted = meeting.warps > 0 ? meeting.warps : block.warps_left;
    if (block.arrived[meeting.barrier] >= wanted) release(block, meeting.barrier, at);
  }

  // `at`: when the last one came.
  void release(SimulatedBlock& block, std::size_t barrier, double at) {
    const double latency =
        profile_.barrier_latency +
        profile_.barrier_warp_clocks * static_cast<double>(block.arrived[barrier]);
    for (const std::size_t index : block.waiting[barrier]) {
      hold_until(warps_[index], at + latency, Wait::barrier);
    }
    block.waiting[barrier].clear();
    block.arrived[barrier] = 0;
  }

  // Barriers that nobody completes, because that part of a trace was not kept.
  bool release_stuck() {
    bool any = false;
    for (SimulatedBlock& block : blocks_) {
      for (std::size_t i = 0; i < block.waiting.size(); ++i) {
        if (block.waiting[i].empty()) continue;
        release(block, i, end_);
        any = true;
      }
      for (std::uint32_t i = 0; i < block.phases.all().size(); ++i) {
        SimulatedPhases::State& state = block.phases[i];
        if (state.waiting.empty()) continue;
        state.done = std::max(state.done, end_);
        let_go(block.phases, i);
        any = true;
      }
    }
    return any;
  }

  void finish(SimulatedWarp& warp) {
    warp.next = kNever;
    warp.trace = nullptr;
    end_ = std::max(end_, warp.free);
    SimulatedBlock& block = blocks_[warp.slot];
    block.warps_left -= 1;
    if (block.warps_left == 0) {
      if (begun_ < recorded_.count())
        begin_block(warp.slot, warp.free + profile_.block_start_clocks);
      return;
    }
    for (std::size_t i = 0; i < block.waiting.size(); ++i) {
      if (!block.waiting[i].empty() && block.arrived[i] >= block.warps_left) {
        release(block, i, warp.free);
      }
    }
  }

  // The whole work's time from that of the part that was simulated.
  SmTime summary() const {
    const double all = recorded_.instructions();
    double left = 0;  // of what was begun
    double now = end_;
    for (const SimulatedWarp& warp : warps_) {
      if (warp.trace == nullptr) continue;
      now = std::max(now, warp.free);
      left += warp.instructions_left();
    }
    SmTime time;
    time.share = all > 0 ? (recorded_.kept(begun_) - left) / all : 1;
    time.clocks = now / std::max(time.share, 1e-9);
    time.warps = static_cast<double>(warps_begun_);
    time.instructions = static_cast<double>(instructions_);
    time.busy = busy_;
    time.issues = issues_;
    time.l2_busy = l2_.busy();
    time.waits = waits_;
    return time;
  }

  const MachineCode& code_;
  const Record& record_;
  const DeviceProfile& profile_;
  SmWork work_;
  RecordedWork recorded_;
  std::vector<OpTraffic> per_op_;  // by instruction
  L2Link l2_;
  std::vector<SimulatedWarp> warps_;
  std::vector<SimulatedBlock> blocks_;
  std::uint64_t begun_ = 0;  // CTAs
  std::uint64_t warps_begun_ = 0;
  std::size_t next_partition_ = 0;
  std::array<double, kPartitions> scheduler_free_{};
  std::array<std::array<double, kUnitCount>, kPartitions> unit_free_{};
  double spill_clocks_ = 0;
  std::array<double, kPartitions> products_until_{};  // of warpgroups
  SharedMemory memory_;
  double end_ = 0;
  double issues_ = 0;
  std::uint64_t instructions_ = 0;
  std::array<double, kUnitCount> busy_{};
  std::array<double, kWaitCount> waits_{};
};

}  // namespace

SmTime simulate_sm(const MachineCode& code, const Record& record, const DeviceProfile& profile,
                   const SmWork& work) {
  if (record.blocks().empty()) return {};
  return Simulation(code, record, profile, work).run();
}

}  // namespace fa_tune::emulator
