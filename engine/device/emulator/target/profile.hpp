#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fa_tune::emulator {

// An SM is four partitions, each with its scheduler and a quarter of the registers. A warp stays in
// the partition it starts in.
inline constexpr int kPartitions = 4;
inline constexpr int kSectorBytes = 32;  // what memory moves

struct ResidualModel;

// What is known of one model of GPU: the limits a kernel must fit and the rates it could reach.
struct DeviceProfile {
  std::string name;   // "l4"
  std::string title;  // "NVIDIA L4"
  std::string arch;   // "sm_89"

  // Limits. Bytes, or counts.
  int sms = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  int registers_per_block = 0;
  int max_registers_per_thread = 0;
  int register_allocation_unit = 0;  // registers, allotted a warp at a time
  int shared_per_block = 0;          // with opt-in, static and dynamic together
  int shared_per_sm = 0;
  int shared_reserved_per_block = 0;
  int shared_allocation_unit = 0;
  std::int64_t l2_bytes = 0;

  // Rates.
  double clock_mhz = 0;  // SM clock sustained under load
  // What is lost of it while tensor cores do all the work they can (wgmma's rate), a part of 1. In
  // between in proportion.
  double clock_loss_at_full_tensor = 0;
  // The same where the load is known better: a part of that rate, and for each byte that bulk copies
  // bring an SM in a clock this much more. What is beyond `clock_load_free` costs the clock its square,
  // and a load of 1 this part of it.
  double clock_load_per_bulk_byte = 0;
  double clock_load_free = 0;
  double clock_loss_at_full_load = 0;
  double dram_gb_per_s = 0;               // 1e9 bytes a second
  double l2_bytes_per_clock_sm = 0;       // while all SMs read
  double l2_port_bytes_per_clock_sm = 0;  // what one SM alone could take
  // What L2's slices could serve at their peak, as Nsight Compute counts it: of what is there, and
  // of what comes from DRAM or goes there. 0: not known. 1e9 bytes a second.
  double l2_hit_gb_per_s = 0;
  double l2_miss_gb_per_s = 0;
  // Slices of L2, as atomic operations see them, and how long one of them takes for one on a sector,
  // and for one of floating point after another on the same sector. 0: not known. Nanoseconds.
  double l2_slices = 0;
  double l2_atomic_ns = 0;
  double l2_atomic_real_ns = 0;
  double shared_bytes_per_clock_sm = 0;
  double tensor_f16_flop_per_clock_sm = 0;  // dense, f32 accumulation, through mma.sync
  double wgmma_f16_flop_per_clock_sm = 0;   // the same through wgmma; 0: it has none
  double fma_f32_per_clock_sm = 0;          // lanes
  double fma_f64_per_clock_sm = 0;  // lanes; 0: not known. Not simulated: see not_modelled()
  double alu_int_per_clock_sm = 0;  // lanes
  double special_per_clock_sm = 0;  // lanes: ex2, rcp, ...
  double half_per_clock_sm = 0;     // lanes of f16x2 arithmetic
  double convert_per_clock_sm = 0;  // lanes: cvt between types
  double issue_per_clock_sm = 0;    // warp instructions
  double launch_us = 0;             // an empty kernel in a graph
  double block_start_clocks = 0;    // from one block to the next where an SM starts many

  // Latencies in clocks, from issue to a result that can be used.
  double arithmetic_latency = 0;
  double special_latency = 0;
  double tensor_latency = 0;
  double shared_latency = 0;
  double l2_latency = 0;           // a global load that L2 answers
  double dram_latency = 0;         // one that it does not; 0: not known, taken for the same
  double barrier_latency = 0;      // of a block of one warp
  double barrier_warp_clocks = 0;  // and so much more for each warp

  // What a rate or a latency may really be. One without a range is a measured figure or a fact.
  struct Range {
    double DeviceProfile::*constant = nullptr;
    double slow = 0;  // the end at which kernels take longer
    double fast = 0;
  };
  std::vector<Range> ranges;

  // What the model is off by for kernels like some that such a GPU has timed; null where none were.
  std::shared_ptr<const ResidualModel> residuals;

  // All constants at one end of their ranges. They are not all off in one direction, so these two
  // enclose more than one would bet on.
  DeviceProfile slowest() const { return at_end(&Range::slow); }
  DeviceProfile fastest() const { return at_end(&Range::fast); }

 private:
  DeviceProfile at_end(double Range::*end) const {
    DeviceProfile profile = *this;
    for (const Range& range : ranges) profile.*range.constant = range.*end;
    return profile;
  }
};

}  // namespace fa_tune::emulator
