#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/op_traffic.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/sm_time.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// Which of several warps goes first that may issue in the same clock (warp_order.hpp).
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

// Runs the recorded CTAs through a simulated SM, of several that may be done last the one that is:
// warps issue in the order of the machine code, one instruction a clock and scheduler, when inputs,
// unit and scheduler are there. Deterministic. Looks at a bounded number of instructions and takes
// the rest to go on like that.
SmTime simulate_sm(const MachineCode& code, const Record& record, const DeviceProfile& profile,
                   const SmWork& work);

}  // namespace fa_tune::emulator
