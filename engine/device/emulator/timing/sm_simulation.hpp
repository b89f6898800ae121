#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/op_traffic.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// What a warp waited for when it could not issue.
enum class Wait : std::uint8_t {
  arithmetic,  // a result of the fma, alu or half pipe, or a fixed time that ptxas wrote down
  special,     // a result of the special-function unit
  tensor,      // a result of the tensor cores
  shared,      // a result from shared memory or another lane
  global,      // a result from global memory
  async,       // asynchronous copies
  barrier,     // other warps
  unit,        // its unit was busy; shared memory's counts as `shared`
  issue,       // another warp had the scheduler, or its code was not there
  count,
};
inline constexpr std::size_t kWaitCount = static_cast<std::size_t>(Wait::count);
const char* name_of(Wait wait);

// Which of several warps goes first that may issue in the same clock (WarpOrder).
enum class IssueOrder : std::uint8_t {
  cta_first,  // whom it was issued for last, then those of the CTA that began first
  in_turn,    // who has waited longest
  goes_on,    // whom it was issued for last, unless its unit was busy; last whose own product runs
};

// The part of a launch that one SM runs.
struct SmWork {
  Dim3 grid;                // CTAs of the launch
  std::uint64_t ranks = 1;  // CTAs of a cluster along x
  std::uint64_t sms = 1;    // that share them
  int resident = 1;         // CTAs on the SM at the same time
  double l2_bytes_per_clock = 0;
  BulkGain bulk_gain = {};
  double l2_port_bytes_per_clock = 0;  // what the SM alone could take
  double store_cost = 1;               // of a byte that is stored, in bytes that are loaded
  double store_bytes_per_clock = 0;    // that L2 takes
  double spilled_words = 0;  // a thread, stores and loads, where the machine code is not known
  L1Reuse l1 = {};
  // Clocks that DRAM takes longer than L2; its share of what no CTA of the SM has read before; and how
  // much longer asynchronous and bulk copies take for it in the mean.
  double dram_clocks = 0;
  double loads_from_dram = 0;
  double copies_dram_clocks = 0;
  bool spills_leave_l1 = false;  // they are more than it holds
  // In this order alone. None: `cta_first`, or where there are products of warpgroups the mean of both
  // others.
  std::optional<IssueOrder> order;
  // That a simulation looks at: some seconds. What does not see an SM's last CTAs, fewer than it has
  // room for, is up to 15% too fast.
  std::uint64_t most_instructions = 16'000'000;
};

// Of one SM's part of a launch.
struct SmTime {
  double clocks = 0;
  double end_clocks = 0;    // from the last warp's end until what the launch has stored is seen
  double warps = 0;         // simulated, for averages
  double instructions = 0;  // issued in the part that was simulated
  double share = 1;         // of the work that was simulated; clocks are for the whole
  // Of the part that was simulated.
  std::array<double, kUnitCount> busy{};   // clocks of one unit; of four where there are four
  double issues = 0;                       // slots
  double l2_busy = 0;                      // clocks in which sectors came or went
  std::array<double, kWaitCount> waits{};  // clocks, summed over warps
  // `in_turn` over `goes_on`, where both were simulated: how much the order tells.
  double order_ratio = 1;
};

// In between, in everything: of a simulation `in_turn` and one that `goes_on`.
inline SmTime mean_of(SmTime a, const SmTime& b) {
  a.order_ratio = (a.clocks + a.end_clocks) / std::max(b.clocks + b.end_clocks, 1.0);
  const auto mean = [](double& to, double other) { to = std::midpoint(to, other); };
  mean(a.clocks, b.clocks);
  mean(a.end_clocks, b.end_clocks);
  mean(a.warps, b.warps);
  mean(a.instructions, b.instructions);
  mean(a.share, b.share);
  mean(a.issues, b.issues);
  mean(a.l2_busy, b.l2_busy);
  for (std::size_t i = 0; i < kUnitCount; ++i) mean(a.busy[i], b.busy[i]);
  for (std::size_t i = 0; i < kWaitCount; ++i) mean(a.waits[i], b.waits[i]);
  return a;
}

// Runs the recorded CTAs through a simulated SM, of several that may be done last the one that is:
// warps issue in the order of the machine code, one instruction a clock and scheduler, when inputs,
// unit and scheduler are there. Deterministic. Looks at a bounded number of instructions and takes
// the rest to go on like that.
SmTime simulate_sm(const MachineCode& code, const Record& record, const DeviceProfile& profile,
                   const SmWork& work);

}  // namespace fa_tune::emulator
