#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fa_tune::emulator {

// A count to reckon with.
inline double real(std::uint64_t count) { return static_cast<double>(count); }

// What a kernel did, counted while it ran. A 'warp instruction' is one instruction issued for one
// warp (for a part of it, if its threads have parted).
struct Counters {
  std::uint64_t warp_instructions = 0;  // all that are issued, below included

  // Warp instructions by the pipe that executes them.
  std::uint64_t tensor = 0;      // mma
  std::uint64_t fma_f32 = 0;     // f32 add, mul, fma
  std::uint64_t half = 0;        // f16 and bf16 arithmetic
  std::uint64_t alu = 0;         // integer, logic, compare, select, move, min, max, prmt
  std::uint64_t special = 0;     // ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh
  std::uint64_t convert = 0;     // cvt between types
  std::uint64_t control = 0;     // branches, barriers, exit
  std::uint64_t shuffle = 0;     // shfl, vote, match, redux
  std::uint64_t load_store = 0;  // every memory instruction

  std::uint64_t tensor_flop = 0;  // 2 * m * n * k each

  // Shared memory: a wavefront serves 32 banks of 4 bytes once (ldmatrix: eight 16-byte rows).
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_wavefronts_ideal = 0;  // had there been no bank conflict
  // Global memory in 32-byte sectors.
  std::uint64_t global_sectors_read = 0;
  std::uint64_t global_sectors_written = 0;
  std::uint64_t global_sectors_in_part = 0;  // of these: an instruction writes some of its bytes
  std::uint64_t global_sectors_again = 0;    // read before by the same CTA: L1 may have them
  std::uint64_t global_wavefronts = 0;       // that L1 takes, as shared memory does
  std::uint64_t global_requests = 0;         // warp instructions that read or write it
  std::uint64_t local_accesses = 0;          // warp instructions that touch local memory

  std::uint64_t barriers = 0;      // bar.sync, a warp each
  std::uint64_t async_copies = 0;  // cp.async warp instructions
  // Sectors that they ask for: all that one reads of a line, for each line of shared memory that they
  // go to.
  std::uint64_t async_sectors = 0;
  std::uint64_t async_waits = 0;  // cp.async.wait_group, wait_all
  std::uint64_t bulk_copies = 0;  // cp.async.bulk, cp.reduce.async.bulk, a thread each
  std::uint64_t bulk_bytes = 0;   // that they move, a box of a tensor as a whole
  std::uint64_t divergent = 0;    // branches that parted a warp

  std::uint64_t blocks = 0;  // CTAs that ran
  std::uint64_t warps = 0;

  Counters& operator+=(const Counters& other);
  // Every count times blocks_total / blocks: a sample of CTAs scaled to the whole grid.
  Counters scaled(double factor) const;
};

// Every counter by the name of its field, in their order.
std::vector<std::pair<std::string, std::uint64_t>> named_counters(const Counters& counters);

// A table for a person, at most 100 columns wide, from a prediction's detail_json: what bounds the
// kernel, how long each unit works, occupancy and what limits it, what warps wait for, sectors a
// request, the source lines with the most bank conflicts. Empty for a text that is no such object.
std::string counters_report(const std::string& detail_json);

}  // namespace fa_tune::emulator
