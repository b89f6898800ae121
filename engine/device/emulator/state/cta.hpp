#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/state/global_memory.hpp"
#include "engine/device/emulator/state/polls.hpp"
#include "engine/device/emulator/state/warpgroup.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

class Cluster;
class Cta;
class GlobalShadow;
class Sanitizer;

// Lanes of a warp that are at the same instruction: one path of a warp that has diverged.
struct DivergentPath {
  enum class State : std::uint8_t {
    ready,
    at_reconvergence,  // waits for other lanes of its warp
    at_barrier,        // waits at a barrier of the CTA
    waiting,  // for an mbarrier or its cluster; tries again when one of them completes a phase
  };
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  State state = State::ready;
  std::uint8_t barrier = 0;

  // Whether another path of its warp may join it where it stands.
  bool can_join() const { return state == State::ready || state == State::at_reconvergence; }
};

// A cp.async that has been issued and whose bytes have not moved yet. Unless the interleaving has
// them move at once, they are read and written when a wait covers them: as late as the ISA allows,
// so that a missing wait shows.
struct PendingCopy {
  std::uint64_t number = 0;  // of the warp's copies
  std::uint32_t mask = 0;
  std::uint32_t bytes = 0;
  std::array<const std::byte*, kWarpSize> from{};
  std::array<std::byte*, kWarpSize> to{};
  std::array<std::uint32_t, kWarpSize> valid{};  // bytes to read; the rest becomes zero
  std::array<std::uint32_t, kWarpSize> group{};
};

struct Warp : LaneFile {
  Cta* cta = nullptr;
  std::uint32_t index = 0;
  std::uint32_t live = 0;  // lanes that have not exited
  std::vector<DivergentPath> paths;
  std::uint32_t slices = 0;       // turns that diverged lanes have used up without reconverging
  std::uint64_t slice_begin = 0;  // when this turn began, in instructions of the CTA
  std::byte* local = nullptr;     // local_bytes a lane, lane after lane
  std::vector<PendingCopy> copies;
  std::uint64_t copies_begun = 0;
  std::array<std::uint32_t, kWarpSize> committed{};       // groups a lane has committed
  std::array<std::uint32_t, kWarpSize> bulk_committed{};  // the same of bulk groups
  // What an instruction of Kind::wait found: go on, go on after the others' turn, or try again.
  enum class Outcome : std::uint8_t { go_on, yield, wait };
  Outcome outcome = Outcome::go_on;
  std::uint64_t awaited = 0;  // address of the mbarrier that an instruction waits for, or 0
  std::uint32_t in_cluster_phase = 0;  // lanes that have arrived at the cluster's barrier
  std::array<std::uint32_t, kWarpSize> cluster_phase{};  // that a lane arrived in
  WgmmaFlight flight;
  std::uint32_t registers = 0;  // a thread's, if setmaxnreg changes them
  Polls polls;
  bool undefined = false;  // some of its values may be: Sanitizer::follow
};

// Handlers are given the registers of a warp, which are a part of it.
inline Warp& warp_of(LaneFile& lanes) { return static_cast<Warp&>(lanes); }

inline constexpr std::size_t kBarriersACta = 16;

// What a launch is to be checked for beyond bounds and alignment: see Checks of Device.
struct CheckSet {
  bool initialized = false;
  bool races = false;
  bool sync = false;
  bool unfenced_mbarriers = false;  // device::Checks

  bool any() const { return initialized || races || sync; }
};

// What all CTAs of a launch share. Owned by the caller of run_grid.
struct LaunchContext {
  const Program* program = nullptr;
  LaunchConfig config;
  std::span<const std::byte> parameters;
  const GlobalMemory* memory = nullptr;
  std::uint64_t budget = 0;  // warp instructions a CTA may execute
  // All CTAs together, with something for each.
  std::uint64_t launch_budget = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t interleaving = 0;                 // the number of an Interleaving
  std::vector<std::uint64_t> only_clusters = {};  // which run, by number; empty: all
  CheckSet checks = {};
  // Clusters that the device holds at once: those that have begun may wait for each other.
  std::uint64_t resident = 1024;
  // Address of what a cooperative launch's barrier of the grid counts in (cooperative_groups/details/
  // driver_abi.h: grid_workspace); 0: the launch is none.
  std::uint64_t grid_workspace = 0;
  // Effort that is left for this launch and all that follow; null: no limit.
  std::atomic<std::uint64_t>* allowance = nullptr;
  // Where a checked launch tells what it found that is no fault; null: it does not.
  std::vector<std::string>* notes = nullptr;
  // What a checked launch knows of accesses of different CTAs; set by run_grid.
  GlobalShadow* between_blocks = nullptr;
};

// One CTA: its warps and their memory. It lives in a Cluster; a WarpExecutor has its warps run.
class Cta {
 public:
  Cta(const LaunchContext& context, Cluster& cluster, std::uint32_t rank, Sanitizer* sanitizer);

  // Begins CTA `index` of the grid. Counts into `record` if that is not null.
  void start(Dim3 index, Record* record);
  std::span<Warp> warps() { return warps_; }

  // For handlers.
  Cluster& cluster() { return cluster_; }
  std::uint32_t rank() const { return rank_; }  // in its cluster
  const LaunchContext& context() const { return context_; }
  Counters* counters() { return record_ == nullptr ? nullptr : &record_->totals; }
  Record* record() { return record_; }
  // Null unless the launch is checked.
  Sanitizer* sanitizer() { return sanitizer_; }
  std::span<std::byte> shared() { return shared_; }  // begins at address shared_reserved
  // Whether a thread of it is still running. When a CTA ends its shared memory is gone.
  bool alive() const { return alive_; }
  void note_exits();
  // A Diagnostic that says what is wrong with `lane`'s instruction.
  Diagnostic describe(DiagnosticKind kind, const Warp& warp, const Op& op, int lane,
                      const std::string& what) const;
  // Reports what is wrong with `lane`'s instruction; the first report stands.
  void report(DiagnosticKind kind, const Warp& warp, const Op& op, int lane,
              const std::string& what);
  // setmaxnreg: a warp's threads want to have `count` registers. False if the CTA's pool has not as
  // many: then they have what they had.
  bool take_registers(Warp& warp, std::uint32_t count);
  // It has exited: its registers go back.
  void give_registers(Warp& warp);
  // In programs with wgmma.
  Warpgroup& warpgroup(const Warp& warp) { return warpgroups_[warp.index / kWarpsAGroup]; }
  // Allocation of the last access: the next is mostly there too.
  const Allocation* last_allocation = nullptr;
  std::uint64_t executed() const { return executed_; }
  void add_executed(std::uint64_t instructions) { executed_ += instructions; }
  // Warp instructions, and for each product of tensor cores as many as take the emulator as long:
  // what it costs, without a clock.
  std::uint64_t effort() const { return executed_ + flop_ / kFlopAnInstruction; }
  void add_flop(std::uint64_t flop) { flop_ += flop; }

 private:
  void start_warp(Warp& warp);
  void fill_special(Warp& warp, Special special, std::uint32_t* out) const;

  const LaunchContext& context_;
  Cluster& cluster_;
  std::uint32_t rank_ = 0;
  bool alive_ = false;
  Record* record_ = nullptr;
  Sanitizer* sanitizer_ = nullptr;
  Dim3 block_index_;
  std::uint32_t free_registers_ = 0;  // of a thread of some warp
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  std::vector<std::uint32_t> registers_;
  std::size_t register_words_ = 0;  // a warp
  std::uint32_t* constants_ = nullptr;
  std::vector<std::byte> shared_;
  std::vector<std::byte> local_;
  std::uint64_t executed_ = 0;
  // 8 GFLOP and 44 million other instructions a second: tools/bench/results/emulator.
  static constexpr std::uint64_t kFlopAnInstruction = 180;
  std::uint64_t flop_ = 0;  // of tensor cores
};

}  // namespace fa_tune::emulator
