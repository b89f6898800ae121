#include "engine/device/emulator/timing/sm_simulation.hpp"

#include <algorithm>

#include "engine/device/emulator/timing/simulated_warp.hpp"

namespace fa_tune::emulator {
namespace {

constexpr double kSectorsPerLine = 4;
// Instructions that a simulation looks at: some 50 ms.
constexpr std::uint64_t kMostInstructions = 600'000;
// Clocks in which the port between a partition and shared memory takes an instruction. It gives
// half as many bytes a clock as shared memory gives (microbenchmarks on the H100).
constexpr double kPortClocks = 4;
constexpr double kPortClocksPerWavefront = 2;
// Spills are in the machine code alone, out of sight of an emulator of PTX, and where they happen
// is not known: taken to be once between two barriers. Each word, stored or loaded, then costs:
constexpr double kSpillClocks = 7;
// Clocks of work that may wait before shared memory until issue must wait too.
constexpr double kMemoryQueue = 48;

struct SimulatedBlock {
  std::size_t warps_left = 0;
  std::array<std::vector<std::size_t>, 16> waiting{};  // warps at each barrier
  std::array<std::size_t, 16> arrived{};
  double bulk_done = 0;
};

class Simulation {
 public:
  Simulation(const MachineCode& code, const Record& record, const DeviceProfile& profile,
             const SmWork& work)
      : code_(code), record_(record), profile_(profile), work_(work) {
    spill_clocks_ = work.spilled_words * kSpillClocks;
    const auto& ops = record.ops();
    wavefronts_.resize(ops.size(), 0);
    sectors_.resize(ops.size(), 0);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].executions == 0) continue;
      const auto executions = static_cast<double>(ops[i].executions);
      wavefronts_[i] = static_cast<double>(ops[i].shared_wavefronts) / executions;
      auto sectors = static_cast<double>(ops[i].global_sectors);
      if (code.costs[i].role == Role::global_read) {
        sectors -= static_cast<double>(ops[i].sectors_again);
      }
      if (code.costs[i].role == Role::async_copy) {
        // Each part costs as much as a whole line, up to twice what is copied.
        const double lines = kSectorsPerLine * static_cast<double>(ops[i].async_lines);
        sectors = std::clamp(lines, sectors, 2 * sectors);
      }
      sectors += static_cast<double>(ops[i].bulk_bytes) / kSectorBytes;
      sectors_[i] = sectors / executions;
    }
  }

  SmTime run() {
    std::size_t warps = 1;
    for (const BlockTrace& block : record_.blocks()) warps = std::max(warps, block.warps.size());
    blocks_.resize(static_cast<std::size_t>(std::max(work_.resident, 1)));
    warps_.resize(blocks_.size() * warps);
    for (SimulatedWarp& warp : warps_) warp.live.resize(code_.live_values);
    for (std::size_t slot = 0; slot < blocks_.size() && begun_ < work_.blocks; ++slot) {
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
  // Recorded CTAs stand for those that were not recorded, in the order of the grid. Where no SM
  // has more than one, the kernel ends with the one that has most to do: a persistent grid's whose
  // tiles do not come out even, the last rows under a causal mask.
  const BlockTrace& trace_of(std::uint64_t number) const {
    const auto& blocks = record_.blocks();
    if (work_.blocks == 1) return *std::ranges::max_element(blocks, {}, instructions_of);
    const auto index = static_cast<std::size_t>((static_cast<double>(number) + 0.5) *
                                                static_cast<double>(blocks.size()) /
                                                static_cast<double>(work_.blocks));
    return blocks[std::min(index, blocks.size() - 1)];
  }

  static std::uint64_t instructions_of(const BlockTrace& block) {
    std::uint64_t sum = 0;
    for (const WarpTrace& warp : block.warps) sum += warp.instructions;
    return sum;
  }

  void begin_block(std::size_t slot, double at) {
    const BlockTrace& trace = trace_of(begun_++);
    SimulatedBlock& block = blocks_[slot];
    block = {};
    block.warps_left = trace.warps.size();
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
    const Cost& cost = code_.costs[step.op];
    const double scheduler = scheduler_free_[warp.partition];
    // wgmma goes into a queue of its own.
    double unit = cost.role == Role::tensor_async ? 0 : *unit_of(warp, cost);
    if (cost.unit == Unit::memory) unit = std::max(unit, memory_free_ - kMemoryQueue);
    const double at = std::max(scheduler, unit);
    if (at > warp.next) {
      wait(unit > scheduler ? Wait::unit : Wait::issue, at - warp.next);
      warp.next = at;
      return;
    }
    issue(warp, step, cost, warp.next);
  }

  void wait(Wait cause, double clocks) { waits_[static_cast<std::size_t>(cause)] += clocks; }

  void issue(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    scheduler_free_[warp.partition] = at + cost.issues * work_.clocks_per_issue;
    issues_ += cost.issues;
    instructions_ += 1;
    warp.free = at + cost.issues * work_.clocks_per_issue;
    Result result{at + cost.latency, Wait::arithmetic};
    double busy = cost.busy;
    if (cost.unit == Unit::memory) {
      const double wavefronts = std::max(wavefronts_[step.op], 1.0);
      busy *= wavefronts;
      memory_free_ = std::max(memory_free_, at) + busy;
      const double port = std::max(kPortClocks, kPortClocksPerWavefront * busy);
      *unit_of(warp, cost) = at + port;
      const double last =
          std::max(memory_free_ - cost.busy, at + kPortClocksPerWavefront * (busy - cost.busy));
      result = {last + cost.latency, Wait::shared};
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
    act(warp, step, cost, at);
    ++warp.step;
  }

  // When `sectors` have gone between the SM and L2, beginning at `at`.
  double move_sectors(double sectors, double at) {
    if (work_.l2_bytes_per_clock <= 0) return at;
    const double clocks = sectors * kSectorBytes / work_.l2_bytes_per_clock;
    l2_free_ = std::max(l2_free_, at) + clocks;
    l2_busy_ += clocks;
    return l2_free_;
  }

  void act(SimulatedWarp& warp, const Step& step, const Cost& cost, double at) {
    SimulatedBlock& block = blocks_[warp.slot];
    switch (cost.role) {
      case Role::global_read:
        warp.done[warp.step] = {move_sectors(sectors_[step.op], at) + cost.latency, Wait::global};
        break;
      case Role::global_write:
        move_sectors(sectors_[step.op], at);
        break;
      case Role::async_copy:
        warp.copies.add(move_sectors(sectors_[step.op], at) + profile_.l2_latency);
        break;
      case Role::async_commit:
        warp.copies.commit();
        break;
      case Role::async_wait:
        hold_until(warp, warp.copies.all_but(cost.depth), Wait::async);
        break;
      case Role::tensor_async:
        // Its sums are not waited for by name, but by group.
        warp.products.add(*unit_of(warp, cost) + cost.latency);
        warp.done[warp.step] = {at, Wait::tensor};
        break;
      case Role::tensor_commit:
        warp.products.commit();
        break;
      case Role::tensor_wait:
        hold_until(warp, warp.products.all_but(cost.depth), Wait::tensor);
        break;
      case Role::bulk_copy:
        block.bulk_done =
            std::max(block.bulk_done, move_sectors(sectors_[step.op], at) + profile_.l2_latency);
        break;
      case Role::bulk_wait:
        hold_until(warp, block.bulk_done, Wait::async);
        break;
      case Role::barrier:
        warp.free += spill_clocks_;
        arrive(warp, cost, at);
        break;
      default:
        break;
    }
  }

  void hold_until(SimulatedWarp& warp, double at, Wait cause) {
    if (at > warp.free) {
      wait(cause, at - warp.free);
      warp.free = at;
    }
    warp.next = warp.free;
  }

  void arrive(SimulatedWarp& warp, const Cost& cost, double at) {
    SimulatedBlock& block = blocks_[warp.slot];
    block.arrived[cost.barrier] += 1;
    if (cost.waits) {
      block.waiting[cost.barrier].push_back(static_cast<std::size_t>(&warp - warps_.data()));
      warp.next = kNever;
    }
    const std::size_t wanted =
        cost.depth > 0 ? static_cast<std::size_t>(cost.depth) : block.warps_left;
    if (block.arrived[cost.barrier] >= wanted) release(block, cost.barrier, at);
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
    }
    return any;
  }

  void finish(SimulatedWarp& warp) {
    warp.next = kNever;
    end_ = std::max(end_, warp.free);
    SimulatedBlock& block = blocks_[warp.slot];
    block.warps_left -= 1;
    if (block.warps_left == 0) {
      if (begun_ < work_.blocks) begin_block(warp.slot, warp.free + profile_.block_start_clocks);
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
    double kept = 0;
    for (std::uint64_t i = 0; i < begun_; ++i) {
      for (const WarpTrace& warp : trace_of(i).warps) kept += static_cast<double>(warp.kept);
    }
    double all = 0;
    for (std::uint64_t i = 0; i < work_.blocks; ++i) {
      for (const WarpTrace& warp : trace_of(i).warps) all += static_cast<double>(warp.instructions);
    }
    double left = 0;  // of what was begun
    double now = end_;
    for (const SimulatedWarp& warp : warps_) {
      if (warp.next == kNever || warp.trace == nullptr) continue;
      now = std::max(now, warp.free);
      left += warp.instructions_left();
    }
    SmTime time;
    time.share = all > 0 ? (kept - left) / all : 1;
    time.clocks = now / std::max(time.share, 1e-9);
    time.warps = static_cast<double>(warps_begun_);
    time.instructions = static_cast<double>(instructions_);
    time.busy = busy_;
    time.issues = issues_;
    time.l2_busy = l2_busy_;
    time.waits = waits_;
    return time;
  }

  const MachineCode& code_;
  const Record& record_;
  const DeviceProfile& profile_;
  SmWork work_;
  std::vector<double> wavefronts_;  // by instruction, an execution
  std::vector<double> sectors_;     // that go to L2
  std::vector<SimulatedWarp> warps_;
  std::vector<SimulatedBlock> blocks_;
  std::uint64_t begun_ = 0;  // CTAs
  std::uint64_t warps_begun_ = 0;
  std::size_t next_partition_ = 0;
  std::array<double, kPartitions> scheduler_free_{};
  std::array<std::array<double, kUnitCount>, kPartitions> unit_free_{};
  double spill_clocks_ = 0;
  double memory_free_ = 0;
  double l2_free_ = 0;
  double l2_busy_ = 0;
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

const char* name_of(Wait wait) {
  constexpr const char* names[] = {"arithmetic",    "special",       "tensor cores",
                                   "shared memory", "global memory", "async copies",
                                   "barriers",      "busy unit",     "scheduler"};
  return wait < Wait::count ? names[static_cast<std::size_t>(wait)] : "";
}

}  // namespace fa_tune::emulator
