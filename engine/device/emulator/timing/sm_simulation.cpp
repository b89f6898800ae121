#include "engine/device/emulator/timing/sm_simulation.hpp"

#include <algorithm>
#include <functional>

#include "engine/device/emulator/timing/instruction_cache.hpp"
#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/op_traffic.hpp"
#include "engine/device/emulator/timing/recorded_work.hpp"
#include "engine/device/emulator/timing/shared_memory.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"
#include "engine/device/emulator/timing/sm_synchronization.hpp"
#include "engine/device/emulator/timing/warpgroup_products.hpp"

namespace fa_tune::emulator {
namespace {

// Spills are in the machine code alone, out of sight of an emulator of PTX, and where they happen
// is not known: taken to be once between two barriers. Each word, stored or loaded, then costs:
constexpr double kSpillClocks = 7;
// From when its unit takes an instruction until that has read its operands. Assumed.
constexpr double kReadClocks = 8;
// A product of mma.sync reads 10 registers of a lane, from two banks. Until it has, nothing else of its
// partition reads any; and while it runs, whatever does delays the next one. On an H200 others that
// take every second clock make 2.9 to 3.0 instructions a product, which then takes 8.1 to 8.5 clocks
// and not 6; by themselves they made 4.0 to 4.2 in that time (microbench_h200_operands.json). Of one
// to four fma.f32 a product of the same warp each costs 0.6 to 0.7 clocks; of another warp 1.1 to 1.2
// (microbench_h200_scheduling.json, the latter in "bursts"), which is not told apart here.
constexpr double kOperandReadClocks = 2;
constexpr double kDelayOfProducts = 0.65;
// What a fence for the whole device takes beyond what it waits for. On an H200 264 and 288 alone, 271 to
// 340 in barriers of clusters, and 615 behind stores of 2 KB, which take as long as a load from L2
// (microbench_h200_fixed.json, "stores", "cluster"). The end of a kernel that has stored is one too: it
// comes 0.27 to 0.40 us later than without (there, "launch_us").
constexpr double kFenceClocks = 270;
// From a branch that is taken until what it leads to is issued, beyond its stall count: in 11 kernels of
// wgmma Nsight Compute's samples have 16 to 21 clocks there, "no instruction", and 5 elsewhere (a log).
constexpr double kTakenBranchClocks = 13;
// From a CTA's last instruction to the first of the one in its place: on an H200 381 to 475 clocks in four
// kernels of wgmma, one CTA an SM, and 568 to 662 in clusters of two, which end together (a log).
constexpr double kNextCtaClocks = 410;
constexpr double kNextClusterClocks = 610;
constexpr double kSpillBytes = 4.0 * kWarpSize;  // of a warp's access to a word of local memory

class Simulation {
 public:
  Simulation(const MachineCode& code, const Record& record, const DeviceProfile& profile,
             const SmWork& work, const RecordedWork& recorded, IssueOrder order)
      : code_(code),
        record_(record),
        profile_(profile),
        work_(work),
        recorded_(recorded),
        cache_(lines_that_run(code, record),
               recorded_.instructions() <= static_cast<double>(work.most_instructions)),
        per_op_(traffic_per_execution(code, record, work.l1)),
        draws_(per_op_.size()),
        l2_(work.l2_bytes_per_clock, work.l2_port_bytes_per_clock, work.store_cost,
            work.store_bytes_per_clock),
        slots_(static_cast<std::size_t>(std::max(work.resident, 1))),
        cta_rank_(slots_),
        order_(order, cta_rank_),
        synchronization_(profile_, work_, l2_),
        spill_clocks_(work.spilled_words * kSpillClocks) {}

  SmTime run() {
    std::size_t warps = 1;
    for (const BlockTrace& block : record_.blocks()) warps = std::max(warps, block.warps.size());
    warps_.resize(slots_ * warps);
    products_ = WarpgroupProducts(warps_);
    for (SimulatedWarp& warp : warps_) warp.live.resize(code_.live_values);
    for (std::size_t slot = 0; slot < slots_ && begun_ < recorded_.count(); ++slot)
      begin_block(slot, static_cast<double>(slot) * profile_.block_start_clocks);
    while (instructions_ < work_.most_instructions) {
      SimulatedWarp* const warp = earliest();
      if (warp != nullptr) {
        advance(*warp);
      } else if (!synchronization_.release_stuck(end_)) {
        break;
      }
    }
    return summary();
  }

 private:
  void begin_block(std::size_t slot, double at) {
    cta_rank_[slot] = begun_;
    const BlockTrace& trace = recorded_.trace_of(begun_++);
    synchronization_.begin_block(slot, trace);
    const std::size_t first = slot * (warps_.size() / slots_);
    for (std::size_t i = 0; i < trace.warps.size(); ++i) {
      SimulatedWarp& warp = warps_[first + i];
      warp.begin_trace(trace.warps[i], at);
      warp.slot = slot;
      products_.begin(warp,
                      warps_[first + i / WarpgroupProducts::kWarps * WarpgroupProducts::kWarps]);
      warp.partition = next_partition_++ % kPartitions;
      warps_begun_ += 1;
    }
  }

  SimulatedWarp* earliest() {
    SimulatedWarp* best = nullptr;
    const auto own_runs = [&](const SimulatedWarp& of) { return products_.own_runs(of, of.next); };
    const auto before = [&](const SimulatedWarp& a, const SimulatedWarp& b) {
      return a.next != b.next ? a.next < b.next : order_.before(a, b, own_runs);
    };
    for (SimulatedWarp& warp : warps_)
      if (warp.next != kNever && (best == nullptr || before(warp, *best))) best = &warp;
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

  // Brings the warp a step further: to its next instruction, to when that may issue, or issues it.
  void advance(SimulatedWarp& warp) {
    if (!warp.ready) {
      warp.ready = warp.find_next(code_);
      if (warp.ready) {
        warp.wait(warp.input.cause, warp.next - warp.free);
      } else if (warp.stored > warp.free) {
        warp.hold_until(warp.stored, Wait::global);
      } else {
        finish(warp);
      }
      return;
    }
    const Step& step = warp.block->steps[warp.step];
    const Cost& cost = code_.costs[step.cost];
    if (cost.issues > 0) {
      if (warp.jumped) {
        warp.jumped = false;
        warp.wait(Wait::issue, kTakenBranchClocks);
        warp.next += kTakenBranchClocks;
        return;
      }
      const double there = cache_.fetch(step.line, warp.line, warp.next);
      warp.line = step.line;
      if (there > warp.next) {
        warp.wait(Wait::issue, there - warp.next);
        warp.next = there;
        return;
      }
    }
    const double scheduler = scheduler_free_[warp.partition];
    const bool is_product = cost.role == Role::tensor_async;
    double unit = is_product ? 0 : *unit_of(warp, cost);
    if (ProductQueue::competes(cost) && cost.unit != Unit::tensor)
      unit = std::max(unit, operands_read_[warp.partition]);
    if (cost.unit == Unit::memory) unit = std::max(unit, memory_.open_from());
    if (cost.role == Role::global_write ||
        (cost.role == Role::local_write && work_.spills_leave_l1))
      unit = std::max(unit, l2_.open_to_stores_from());
    const double at = std::max(scheduler, unit);
    if (at > warp.next) {
      const Wait busy = cost.unit == Unit::memory ? Wait::shared : Wait::unit;
      warp.wait(unit > scheduler ? busy : Wait::issue, at - warp.next);
      warp.held_up = warp.held_up || unit > scheduler;
      warp.next = at;
      return;
    }
    if (is_product) {
      if (products_.holds(warp)) return;
    } else if (const auto slot = products_.slot_after(cost, warp.next)) {
      warp.wait(Wait::issue, *slot - warp.next);
      warp.held_up = warp.held_up || cost.unit != Unit::fma;
      warp.next = *slot;
      return;
    }
    issue(warp, step, cost, warp.next);
  }

  // A product of mma.sync reads its operands, or something else delays those that follow.
  void read_operands(const SimulatedWarp& warp, const Cost& cost, double at) {
    if (cost.role == Role::tensor_async) return;
    double& tensor_free = unit_free_[warp.partition][static_cast<std::size_t>(Unit::tensor)];
    if (cost.unit == Unit::tensor)
      operands_read_[warp.partition] = at + kOperandReadClocks;
    else if (at < tensor_free && ProductQueue::competes(cost))
      tensor_free += kDelayOfProducts;
  }

  void issue(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    if (cost.role == Role::tensor_wait && products_.waits(warp, cost.depth, at)) return;
    products_.delay(warp, cost, at);
    const double slots = cost.issues;
    scheduler_free_[warp.partition] = at + slots;
    issues_ += slots;
    instructions_ += 1;
    warp.issued = at;
    warp.held_up = false;
    order_.issued(warp);
    warp.free = at + std::max(slots, static_cast<double>(step.stall));
    warp.wait(Wait::arithmetic, warp.free - at - slots);
    Result result{at + cost.latency, Wait::arithmetic};
    double busy = cost.busy;
    if (cost.unit == Unit::memory) {
      busy *= std::max((step.acts ? per_op_[step.op].wavefronts : 1.0) * step.share, 1.0);
      const SharedMemory::Access access =
          memory_.access(warp.partition, products_.queue(), at, cost.busy, busy);
      *unit_of(warp, cost) = access.open_from;
      result = {access.last + cost.latency, Wait::shared};
      if (cost.role == Role::local && work_.spills_leave_l1)
        result = {l2_.move(kSpillBytes * step.share, at) + profile_.l2_latency, Wait::global};
      if (cost.role == Role::local_write && work_.spills_leave_l1)
        l2_.store(kSpillBytes * step.share, at);
    } else if (cost.role != Role::tensor_async) {
      double& free = *unit_of(warp, cost);
      free = std::max(free, at) + products_.holds_unit(warp, cost, at);
      if (cost.unit == Unit::special) result.cause = Wait::special;
      if (cost.unit == Unit::tensor) result.cause = Wait::tensor;
    }
    read_operands(warp, cost, at);
    // Nsight Compute counts what asynchronous copies write among no loads' or stores' wavefronts.
    busy_[static_cast<std::size_t>(cost.unit)] += cost.role == Role::async_copy ? 0 : busy;
    busy_[static_cast<std::size_t>(Unit::memory)] += cost.operands;
    warp.done[warp.step] = result;
    if (cost.role == Role::device_fence)
      warp.hold_until(
          std::max({at, warp.stored, synchronization_.stored_of(warp.slot)}) + kFenceClocks,
          Wait::global);
    warp.next = warp.free;
    warp.ready = false;
    if (step.acts) act(warp, step, cost, at);
    if (step.is_machine) {
      warp.hold_barrier(step.write_barrier, warp.done[warp.step]);
      warp.hold_barrier(step.read_barrier, {*unit_of(warp, cost) + kReadClocks, Wait::shared});
    }
    ++warp.step;
  }

  static double bytes_of(const Step& step, double sectors) {
    return sectors * step.share * kSectorBytes;
  }

  // Of several loads that a warp waits for at a time the slowest counts: so each has one source, drawn.
  double latency_of_load(std::uint32_t op) {
    const double draw = draws_.next(op);
    const LoadSources& from = per_op_[op].from;
    // L1 and shared memory are one memory.
    if (draw < from.l1) return profile_.shared_latency;
    const bool dram = draw < from.l1 + from.first * work_.loads_from_dram;
    return profile_.l2_latency + (dram ? work_.dram_clocks : 0);
  }

  void act(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    switch (cost.role) {
      case Role::global_read:
        warp.done[warp.step] = {
            l2_.move(bytes_of(step, per_op_[step.op].sectors), at) + latency_of_load(step.op),
            Wait::global};
        break;
      case Role::global_write:
        warp.stored = profile_.l2_latency + l2_.store(bytes_of(step, per_op_[step.op].sectors), at,
                                                      bytes_of(step, per_op_[step.op].in_part));
        stored_ = std::max(stored_, warp.stored);
        break;
      case Role::async_copy:
        warp.copies.add(l2_.move(bytes_of(step, per_op_[step.op].sectors), at) +
                        profile_.l2_latency + work_.copies_dram_clocks);
        break;
      case Role::async_commit:
        warp.copies.commit();
        break;
      case Role::async_wait:
        warp.hold_until(warp.copies.all_but(cost.depth), Wait::async);
        break;
      case Role::tensor_async:
        // Its sums are not waited for by name, but by group.
        products_.issue(warp, cost, at);
        warp.done[warp.step] = {at, Wait::tensor};
        break;
      case Role::tensor_commit:
        products_.commit(warp);
        break;
      case Role::traced:
        for (const AsyncEvent& event : warp.events())
          synchronization_.happen(warp, event, at, step.is_machine);
        break;
      case Role::bulk_commit:
        warp.bulk_reads.commit();
        warp.bulk_writes.commit();
        break;
      case Role::bulk_wait:
        warp.hold_until((cost.reads_only ? warp.bulk_reads : warp.bulk_writes).all_but(cost.depth),
                        Wait::async);
        break;
      case Role::cluster_arrive:
        synchronization_.arrive_at_cluster(warp, at);
        break;
      case Role::cluster_wait:
        synchronization_.wait_for_cluster(warp);
        break;
      case Role::barrier:
        warp.free += spill_clocks_;
        synchronization_.meet(warp, warp.meeting(cost), at);
        break;
      default:
        break;
    }
  }

  void finish(SimulatedWarp& warp) {
    warp.next = kNever;
    warp.trace = nullptr;
    end_ = std::max(end_, warp.free);
    if (synchronization_.leave(warp) && begun_ < recorded_.count())
      begin_block(warp.slot, warp.free + next_cta_clocks());
  }
  double next_cta_clocks() const {
    if (!code_.has_warpgroup_products) return profile_.block_start_clocks;
    return work_.ranks > 1 ? kNextClusterClocks : kNextCtaClocks;
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
    time.share = all > 0 ? (recorded_.kept(begun_) - left) / all / recorded_.scale() : 1;
    time.clocks = now / std::max(time.share, 1e-9);
    // What DRAM has to take the launch waits for as a whole.
    const double stored = std::max(stored_, synchronization_.stored());
    const bool known = left == 0 && work_.loads_from_dram == 0;
    if (stored > 0)
      time.end_clocks = kFenceClocks + (known ? std::max(stored - now, 0.0) : profile_.l2_latency);
    time.warps = static_cast<double>(warps_begun_);
    time.instructions = static_cast<double>(instructions_);
    time.busy = busy_;
    time.issues = issues_;
    time.l2_busy = l2_.busy();
    for (const SimulatedWarp& warp : warps_)
      std::ranges::transform(time.waits, warp.waits, time.waits.begin(), std::plus{});
    return time;
  }

  const MachineCode& code_;
  const Record& record_;
  const DeviceProfile& profile_;
  SmWork work_;
  const RecordedWork& recorded_;
  InstructionCache cache_;
  std::vector<OpTraffic> per_op_;  // by instruction
  EvenDraws draws_;
  L2Link l2_;
  std::vector<SimulatedWarp> warps_;
  std::size_t slots_;                    // for CTAs
  std::vector<std::uint64_t> cta_rank_;  // of the CTA in each: how many had begun before
  WarpOrder order_;
  SmSynchronization synchronization_;
  std::uint64_t begun_ = 0;  // CTAs
  std::uint64_t warps_begun_ = 0;
  std::size_t next_partition_ = 0;
  std::array<double, kPartitions> scheduler_free_{};
  std::array<std::array<double, kUnitCount>, kPartitions> unit_free_{};
  std::array<double, kPartitions> operands_read_{};  // from when others may read theirs
  double spill_clocks_;
  WarpgroupProducts products_;
  SharedMemory memory_;
  double end_ = 0;
  double stored_ = 0;  // when L2 has all that threads stored
  double issues_ = 0;
  std::uint64_t instructions_ = 0;
  std::array<double, kUnitCount> busy_{};
};

}  // namespace

SmTime simulate_sm(const MachineCode& code, const Record& record, const DeviceProfile& profile,
                   const SmWork& work) {
  if (record.blocks().empty()) return {};
  SmTime last;
  for (const RecordedWork& recorded :
       RecordedWork::of_last_sms(record, work.grid, work.sms, work.resident, work.ranks)) {
    const auto time_in = [&](IssueOrder order) {
      return Simulation(code, record, profile, work, recorded, order).run();
    };
    const bool of_both = code.has_warpgroup_products && !work.order;
    const SmTime time = of_both
                            ? mean_of(time_in(IssueOrder::in_turn), time_in(IssueOrder::goes_on))
                            : time_in(work.order.value_or(IssueOrder::cta_first));
    if (time.clocks + time.end_clocks > last.clocks + last.end_clocks) last = time;
  }
  return last;
}

}  // namespace fa_tune::emulator
