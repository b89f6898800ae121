#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/trace/record.hpp"

// A warp that replays its trace. The simulation of the SM decides when it issues, and WarpOrder which of
// several.

namespace fa_tune::emulator {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// A result: when it is there, and what made it.
struct Result {
  double at = 0;
  Wait cause = Wait::arithmetic;
};

// Asynchronous operations of a warp, in groups that it commits and waits for.
struct Groups {
  std::vector<double> done;  // when each group and those before it are
  double open = 0;           // of what is not committed

  void add(double at) { open = std::max(open, at); }
  void commit() {
    done.push_back(std::max(open, done.empty() ? 0 : done.back()));
    open = 0;
  }
  // When all but the last `depth` groups are done; below zero: all, and what is not committed.
  double all_but(int depth) const {
    if (depth < 0) return std::max(open, done.empty() ? 0 : done.back());
    const auto kept = static_cast<std::size_t>(depth);
    return done.size() > kept ? done[done.size() - 1 - kept] : 0;
  }
};

struct SimulatedWarp {
  const WarpTrace* trace = nullptr;
  std::size_t slot = 0;  // of its CTA
  std::size_t partition = 0;
  std::size_t range = 0;
  std::uint32_t at = 0;  // the first instruction of the range that is behind `block`
  const MachineBlock* block = nullptr;
  std::uint32_t begin = 0;  // the part of the block that the range covers
  std::uint32_t end = 0;
  std::size_t step = 0;
  bool ready = false;  // `step` is an instruction that is issued
  double issued = 0;   // when the one before was
  double free = 0;     // when it has issued the one before
  double next = kNever;
  std::vector<Result> done;                // by step of the block
  std::vector<Result> live;                // by value that lives across blocks
  std::array<Result, kBarriers> barriers;  // of the machine code: when each is released
  std::uint32_t line = 0;                  // of the code, that it is at
  MachineBlock::Place came_from;           // where the machine code of the block before has ended
  bool jumped = false;                     // into this block, by a branch that was taken
  bool held_up = false;  // its unit was busy when it could have issued, or had to leave a slot
  double stored = 0;     // when L2 has what it stored last
  Groups copies;
  Groups bulk_reads;              // of bulk stores: the reading of their sources
  Groups bulk_writes;             // and all of it
  std::size_t event = 0;          // the next of the trace's
  bool parked = false;            // waits for a phase that is not complete
  std::size_t cluster_round = 0;  // of its CTA's barriers of the cluster: the last it came to
  Result input;                   // the latest input of the instruction that is ready
  std::array<double, kWaitCount> waits{};  // clocks, over all traces

  // Starts on a new trace, free from `at` on.
  void begin_trace(const WarpTrace& of, double at);
  // Finds the next instruction that is issued, and when its inputs are there: `step`, `input`,
  // `next`. False: there is none.
  bool find_next(const MachineCode& code);
  double instructions_left() const;
  // The events of the instruction at `step`; asked once for each execution.
  std::span<const AsyncEvent> events();

  // A barrier that it comes to.
  struct Meeting {
    std::size_t barrier = 0;
    std::size_t warps = 0;  // 0: all of the CTA
    bool waits = true;
  };
  // That of the instruction at `step`. One whose number is in a register is among its events.
  Meeting meeting(const Cost& cost);
  void wait(Wait cause, double clocks) { waits[static_cast<std::size_t>(cause)] += clocks; }
  // Does nothing before that.
  void hold_until(double until, Wait cause) {
    if (until > free) {
      wait(cause, until - free);
      free = until;
    }
    next = free;
  }
  // The barrier is not released before that.
  void hold_barrier(std::uint8_t barrier, const Result& until) {
    if (barrier < kBarriers && until.at > barriers[barrier].at) barriers[barrier] = until;
  }

 private:
  std::uint32_t passed_ = 0;  // kept instructions before `begin`
  std::size_t round_ = 0;     // of MachineBlock::rounds
  std::size_t last_ = 0;      // step behind those of this execution
  bool enter_block(const MachineCode& code);
};

// Which of several warps goes first that may issue in the same clock.
//
// An H200's CTAs that multiply by mma.sync go on one after the other, if one pauses the first of those
// that wait, and bursts of 64 products with pauses between them keep out of each other's way from the
// second on (tools/bench/results/clock/microbench_h200_scheduling.json): `cta_first`.
//
// Beside products of warpgroups (wgmma) no one order holds (logs of an H200). Two warps of a partition
// with streams of exponentials, of maxima or of softmax get half each. Of two with independent FMAs one
// has all until it ends, if it came 9 clocks earlier, or half, if they came together. And of two with
// softmax the one whose own warpgroup's product runs gets a third. By that two warpgroups of a kernel
// keep step or alternate, and CTAs of one kernel can do both. So such a kernel is simulated in two orders
// that bound this, and takes the mean of their times:
// - `in_turn`: who has waited longest goes first;
// - `goes_on`: whom the partition issued for last goes on, unless it had to wait for its unit; those
//   whose own product runs come last.
class WarpOrder {
 public:
  // `cta_rank`, by place on the SM: how many CTAs had begun before its own. It outlives this.
  WarpOrder(IssueOrder order, const std::vector<std::uint64_t>& cta_rank)
      : order_(order), cta_rank_(cta_rank) {}

  void issued(const SimulatedWarp& warp) { last_[warp.partition] = &warp; }
  // Whether `a` goes before `b`, which may issue at the same time. `own_runs(warp)`: whether a product
  // of its warpgroup runs then.
  bool before(const SimulatedWarp& a, const SimulatedWarp& b, const auto& own_runs) const {
    if (order_ == IssueOrder::in_turn) return a.issued < b.issued;
    const bool beside_products = order_ == IssueOrder::goes_on;
    if (beside_products) {
      const bool a_own = own_runs(a);
      if (a_own != own_runs(b)) return !a_own;
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
