// A time from a run. The model, step by step:
//
// 1. CTAs of the grid run in the emulator, which keeps of some the way of every warp through the
//    program and what each instruction did to shared and global memory (trace/record.hpp).
// 2. The program is translated to what the machine will execute: the machine code that ptxas made
//    of it for the target, matched to the PTX by lines (sass.cpp, sass_blocks.cpp). Where that is
//    not known: what ptxas may be expected to leave out, and in which order a block's instructions
//    come (ptx_cost.cpp, pseudo_sass.cpp).
// 3. One SM is simulated, the one that is done last (recorded_work.cpp says which CTAs it has): it
//    runs as many at a time as registers, shared memory and threads allow (occupancy.cpp). Warps
//    issue in order, when inputs, unit and scheduler are there; shared memory and L1, which are one,
//    serve wavefronts, L2 sectors, barriers join warps (sm_simulation.cpp). So latency hiding, waves,
//    tails and the cost of barriers are not formulas but follow from that. Of what loads want L1 has
//    what their CTA has read not too long ago, and what others on the SM read too, going by some
//    that are looked at (l1_cache.cpp).
// 4. The chip: L2 serves all SMs, DRAM what L2 cannot hold (chip_traffic.cpp), and what one SM leaves
//    of DRAM's rate others have; atomic operations on few lines wait for each other in L2
//    (atomic_contention.cpp). A kernel is timed over and over on the same data; what fits in L2 stays
//    there.
// 5. The launch is added: an empty kernel's time, and what clusters take to start. Its end comes when
//    all can see what it has stored.
// What is made of it, how far off it may be and what it does not cover stand in ../prediction.
//
// Rates and latencies are the profile's, most of them from microbenchmarks. The constants below and
// those in other files here were set by hand on variants measured on an H100 and an H200: never on
// those that tools/bench/results/clock reports as test, and on those of a blind seed only after they
// had been predicted. What is not seen: conflicts of register banks beyond product_queue.hpp, the caches
// behind that of instructions (instruction_cache.hpp), partitions of L2.

#include "engine/device/emulator/timing/timing_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/device/emulator/timing/atomic_contention.hpp"
#include "engine/device/emulator/timing/chip_traffic.hpp"
#include "engine/device/emulator/timing/l1_cache.hpp"
#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"

namespace fa_tune::emulator {

namespace {

// A grid of clusters of two CTAs starts later than one without: on an H200 0.04 us for 66 CTAs, 0.11
// for 132 (microbench_h200_fixed.json, "launch_us").
constexpr double kClusterLaunchUs = 0.055;
// How often an SM is simulated again with what others leave it, which is then half as far off.
constexpr int kPoolRounds = 4;
// A unit that works for this share of the time is said to bound it.
constexpr double kBusy = 0.6;
// Loads that cost more than that have not been seen: an H200 has lost 13% at most.
constexpr double kMostClockLoss = 0.5;
// From this share of known machine code on a kernel is taken to be known.
constexpr double kMostlyMachine = 0.9;

double share_of(double part, double whole) { return std::min(part / std::max(whole, 1.0), 1.0); }

// An SM whose data DRAM has, and the rate that it is left with. SMs wait at different times, and what
// one leaves of DRAM's rate the others have: up to `most` bytes a clock.
SmTime simulate_among_others(const MachineCode& code, const Record& record,
                             const DeviceProfile& profile, SmWork& work, double most) {
  const double share = work.l2_bytes_per_clock;
  SmTime sm = simulate_sm(code, record, profile, work);
  double used = 1;
  for (int round = 0; round < kPoolRounds; ++round) {
    const double moved = sm.l2_busy * work.l2_bytes_per_clock;
    used = std::midpoint(used, share_of(moved, share * sm.clocks * sm.share));
    work.l2_bytes_per_clock = std::min(share / std::max(used, 0.01), most);
    sm = simulate_sm(code, record, profile, work);
  }
  return sm;
}

const Part& longest(const std::vector<Part>& parts) {
  return *std::max_element(parts.begin(), parts.end(),
                           [](const Part& a, const Part& b) { return a.us < b.us; });
}

}  // namespace

double clock_loss(const DeviceProfile& profile, double tensor_share, double bulk_bytes) {
  const double load = tensor_share + profile.clock_load_per_bulk_byte * bulk_bytes;
  const double beyond =
      std::max(load - profile.clock_load_free, 0.0) / std::max(1 - profile.clock_load_free, 0.01);
  const double loss = profile.clock_loss_at_full_tensor * tensor_share +
                      profile.clock_loss_at_full_load * beyond * beyond;
  return std::min(loss, kMostClockLoss);
}

SimulatedLaunch simulate_launch(const DeviceProfile& profile, const KernelResources& resources,
                                const LaunchConfig& launch, const Program& program,
                                const Record& record, double reachable_bytes) {
  const Occupancy held = occupancy(profile, resources, launch);
  const double blocks = std::max(real(launch.grid.count()), 1.0);
  const double busy_sms = std::min<double>(blocks, std::max(profile.sms, 1));
  const double to_grid = blocks / std::max(real(record.totals.blocks), 1.0);
  const Counters grid = record.totals.scaled(to_grid);
  const double in_l1 = l1_bytes(profile, resources, launch, held.blocks_per_sm);
  const int resident = std::max(held.blocks_per_sm, 1);
  const double rounds = blocks / busy_sms / resident;
  const L1Reuse l1 = l1_reuse(record, resident, rounds, in_l1);
  const Traffic traffic = traffic_of(program, translate_each(program, profile), record, to_grid,
                                     grid, reachable_bytes, l1);
  const MachineCode code = make_machine_code(program, profile, record);

  SmWork work;
  work.grid = launch.grid;
  work.ranks = std::max<std::uint64_t>(launch.cluster.x, 1);
  work.sms = static_cast<std::uint64_t>(std::max(profile.sms, 1));
  work.resident = resident;
  work.l2_bytes_per_clock = bytes_per_clock(profile, traffic, busy_sms);
  work.bulk_gain = bulk_gain(profile, traffic, busy_sms);
  work.store_cost = store_cost(profile, traffic, busy_sms);
  work.store_bytes_per_clock = l2_bytes_per_clock(profile, traffic, busy_sms) / L2Link::kStoreCost;
  work.l2_port_bytes_per_clock = profile.l2_port_bytes_per_clock_sm;
  // Where the machine code is known, its spills are among the instructions.
  if (code.machine_share < kMostlyMachine)
    work.spilled_words =
        (std::max(resources.spill_store_bytes, 0) + std::max(resources.spill_load_bytes, 0)) / 4.0;
  work.l1 = l1;
  const double missed = dram_bytes(profile, traffic);
  work.dram_clocks = std::max(profile.dram_latency - profile.l2_latency, 0.0);
  work.loads_from_dram = share_of(missed, traffic.first + traffic.written);
  if (missed > 0) {
    const double cluster = std::max(real(launch.cluster.count()), 1.0);
    const double slots = std::min(resident * busy_sms, blocks) / cluster;
    work.copies_dram_clocks = work.dram_clocks * share_of_dram_latency(blocks / cluster, slots,
                                                                       readers_of_copies(traffic));
  }
  const double spilled =
      held.blocks_per_sm * real(launch.block.count()) * resources.spill_store_bytes;
  work.spills_leave_l1 = spilled > in_l1;
  const SmTime sm = missed > 0
                        ? simulate_among_others(code, record, profile, work,
                                                l2_bytes_per_clock(profile, traffic, busy_sms))
                        : simulate_sm(code, record, profile, work);

  const double us_per_clock = kModelBias / profile.clock_mhz;
  const double sm_us = (sm.clocks + sm.end_clocks) * us_per_clock;
  const double whole = us_per_clock / std::max(sm.share, 1e-9);  // of a clock that was simulated
  std::vector<Part> units;
  for (std::size_t i = 0; i < kUnitCount; ++i) {
    const auto unit = static_cast<Unit>(i);
    const double copies = unit == Unit::memory ? 1 : kPartitions;
    units.push_back({name_of(unit), sm.busy[i] / copies * whole});
  }
  units.push_back({"issue", sm.issues / kPartitions * whole});
  const double of_l2 = work.l2_bytes_per_clock / l2_bytes_per_clock(profile, traffic, busy_sms);
  const double atomics = atomic_us(profile, record.atomics, record.totals.blocks, to_grid);
  const auto moving = [&](double bytes) {
    return std::array{Part{"l2", l2_us(profile, traffic, bytes, sm.l2_busy * whole * of_l2)},
                      Part{"dram", bytes / (profile.dram_gb_per_s * 1e3)}};
  };
  // Units are as busy as a profiler sees them, in one launch.
  const auto seen_moving = moving(dram_bytes_of_launch(profile, traffic));
  units.insert(units.end(), seen_moving.begin(), seen_moving.end());
  // The simulated SM's share of L2 and DRAM is a rate; nothing is done before all bytes have moved.
  const auto all_moving = moving(missed);
  const double moved_us = std::max(all_moving[0].us, all_moving[1].us);
  const double memory_us = std::max(moved_us, atomics);
  std::vector<Part> waits;
  for (std::size_t i = 0; i < kWaitCount; ++i) {
    const double warps = std::max(sm.warps, 1.0);
    waits.push_back({name_of(static_cast<Wait>(i)), sm.waits[i] / warps * us_per_clock});
  }
  // What a slice of L2 does one after the other keeps none of its units busy, and all warps waiting.
  waits[static_cast<std::size_t>(Wait::global)].us +=
      std::max(atomics - std::max(sm_us, moved_us), 0.0) / std::max(rounds, 1.0);

  const double at_full_clock_us = std::max(sm_us, memory_us);
  const double tensor_flop = real(grid.tensor_flop) / std::max(profile.sms, 1);
  const double could =
      std::max(profile.wgmma_f16_flop_per_clock_sm, profile.tensor_f16_flop_per_clock_sm) *
      at_full_clock_us * profile.clock_mhz;
  SimulatedLaunch simulated;
  simulated.bulk_bytes_per_clock = real(grid.bulk_bytes) / std::max(profile.sms, 1) /
                                   std::max(at_full_clock_us * profile.clock_mhz, 1.0);
  simulated.clock_loss =
      clock_loss(profile, share_of(tensor_flop, could), simulated.bulk_bytes_per_clock);
  const double running_us = std::max(sm_us / (1 - simulated.clock_loss), memory_us);
  simulated.launch_us = profile.launch_us + (launch.cluster.count() > 1 ? kClusterLaunchUs : 0);
  simulated.us = simulated.launch_us + running_us;
  if (running_us < simulated.launch_us) {
    simulated.bound_by = "launch";
  } else if (longest(units).us >= kBusy * running_us) {
    simulated.bound_by = longest(units).name;
  } else {
    simulated.bound_by = "waits for " + longest(waits).name;
  }
  simulated.memory_us = memory_us;
  simulated.end_us = sm.end_clocks * us_per_clock;
  simulated.held = held;
  simulated.blocks_on_busiest_sm = (launch.grid.count() + work.sms - 1) / work.sms;
  simulated.rounds = rounds;
  simulated.units = std::move(units);
  simulated.waits = std::move(waits);
  simulated.order_ratio = sm.order_ratio;
  simulated.atomics_us = atomics;
  simulated.counters = grid;
  simulated.to_grid = to_grid;
  simulated.simulated_share = std::min(sm.share, 1.0);
  simulated.machine_share = code.machine_share;
  simulated.unmatched = code.unmatched;
  return simulated;
}

}  // namespace fa_tune::emulator
