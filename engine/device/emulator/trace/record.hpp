#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/trace/async_trace.hpp"
#include "engine/device/emulator/trace/atomic_sectors.hpp"
#include "engine/device/emulator/trace/counters.hpp"

namespace fa_tune::emulator {

// How long ago a CTA read a sector that it reads again: by how many sectors its warp has moved more,
// or fewer, than the warp that read it had then, as the warps of a CTA run side by side. Two classes
// for each power of two.
inline constexpr std::size_t kReuseClasses = 48;
std::size_t reuse_class_of(std::uint32_t sectors);
struct ReuseClass {
  std::uint64_t reads = 0;  // of sectors
  std::uint64_t moved = 0;  // sectors since, summed over the reads
};

// What one instruction of the program did, over all warps counted.
struct OpCounters {
  std::uint64_t executions = 0;  // warp instructions
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_wavefronts_ideal = 0;
  // Had it moved 8 or 16 bytes a lane, aligned, in the place of fewer; 0 for those it moves itself.
  std::array<std::uint64_t, 2> shared_wavefronts_as_wide{};
  std::uint64_t global_wavefronts = 0;  // in L1
  std::uint64_t global_sectors = 0;     // read or written
  std::uint64_t sectors_in_part = 0;    // of them, written but for some bytes
  std::uint64_t sectors_again = 0;      // of them, read before by the same CTA
  std::uint64_t reads_again = 0;        // executions all of whose sectors were
  std::array<std::uint64_t, kReuseClasses> again_by_class{};  // sectors_again
  // Of those that a CTA reads for the first time, in CTAs with a neighbour: all, and those that the
  // neighbour reads as well (Record::compare_reads).
  std::uint64_t sectors_compared = 0;
  std::uint64_t sectors_of_neighbour = 0;
  std::uint64_t async_sectors = 0;
  std::uint64_t bulk_bytes = 0;

  OpCounters& operator+=(const OpCounters& other);
};

// Instructions that a warp executed one after the other: [begin, end) of Program::ops.
struct PcRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The way of a warp through the program. Lanes that part go their ways one after the other, as on
// the hardware. Kept up to a limit: `instructions` counts all.
struct WarpTrace {
  std::vector<PcRange> ranges;
  std::vector<AsyncEvent> events;  // by AsyncEvent::at
  std::uint32_t sectors = 0;       // of global memory that it has read and written
  std::uint64_t kept = 0;
  std::uint64_t instructions = 0;
};

struct BlockTrace {
  std::uint64_t block = 0;  // number in the grid, x fastest
  std::vector<WarpTrace> warps;
  std::vector<MbarrierPhase> phases;  // of the mbarriers in its shared memory

  // Of all its warps.
  double instructions() const {
    double sum = 0;
    for (const WarpTrace& warp : warps) sum += static_cast<double>(warp.instructions);
    return sum;
  }
};

// Sectors of 32 bytes that a CTA has read, with the instruction that did so first and when one did
// last: open addressing, emptied in no time.
class SectorSet {
 public:
  SectorSet();
  void clear();
  // Notes a read at `now`; when the one before was, if it was there.
  std::optional<std::uint32_t> read(std::uint64_t sector, std::uint32_t op, std::uint32_t now);
  bool has(std::uint64_t sector) const;
  template <typename Act>
  void for_each(const Act& act) const {
    for (const Place& place : places_)
      if (place.epoch == epoch_) act(place.sector, place.op);
  }

 private:
  struct Place {
    std::uint64_t sector = 0;
    std::uint32_t op = 0;
    std::uint32_t epoch = 0;
    std::uint32_t last_read = 0;
  };
  void grow();
  // Where the sector is, or a free place for it.
  std::size_t place_of(std::uint64_t sector) const;

  std::vector<Place> places_;
  std::uint32_t epoch_ = 1;
  std::size_t held_ = 0;
};

// What a counting run keeps of the CTAs it ran: totals, what each instruction did, and the way of
// every warp. Filled by one thread; those of several are joined.
class Record {
 public:
  Counters totals;
  AtomicSectors atomics;

  Record() = default;
  explicit Record(const Program& program) : ops_(program.ops.size()), first_op_(&program.ops[0]) {}

  // For the executor. Begins a CTA of `warps` warps.
  void begin_block(std::uint64_t block, std::size_t warps);
  // Warp `warp` of the CTA `slot` (a cluster's rank) is about to issue `op`. Everything the totals
  // gain from here to the next call is the instruction's own.
  void issue(std::uint32_t slot, std::uint32_t warp, const Op& op);
  // What the last instruction reads of global memory, each sector once; how many of them its CTA has
  // read before.
  std::uint64_t read(std::span<const std::uint64_t> sectors);
  // And how many sectors it writes.
  void write(std::uint64_t sectors) { warp_->sectors += static_cast<std::uint32_t>(sectors); }
  // Sectors that the warp has moved that moved most of its CTA, summed over CTAs.
  std::uint64_t sectors_of_busiest_warps() const;
  const std::array<ReuseClass, kReuseClasses>& reuse() const { return reuse_; }
  // Once the CTA is over, and that of `neighbour` too, which an SM holds beside it.
  void compare_reads(const Record& neighbour);
  // What the last instruction would have had of wavefronts in shared memory with wider accesses.
  void count_wide(std::array<std::uint64_t, 2> wavefronts) {
    for (std::size_t i = 0; i < wavefronts.size(); ++i)
      ops_[last_].shared_wavefronts_as_wide[i] += wavefronts[i];
  }
  // A warp's atomic operations on global memory, by its lanes' addresses.
  void operate(std::span<const std::uint64_t> addresses, bool is_real) {
    atomics.add(blocks_[first_open_].block, addresses, is_real);
  }
  // Mbarriers, by where they are in this process; `slot` and `warp` issued their last instruction to
  // do what is said. A phase is completed after what completed it was told.
  void make_mbarrier(std::uint32_t slot, const std::byte* where);
  void complete_phase(const std::byte* where);
  void arrive(std::uint32_t slot, std::uint32_t warp, const std::byte* where, bool after_copies);
  void pass(std::uint32_t slot, std::uint32_t warp, const std::byte* where);
  // A copy into shared memory that completes on these mbarriers, one for each CTA that it reaches;
  // from global memory, or from shared memory.
  void load(std::uint32_t slot, std::uint32_t warp, bool from_global,
            std::span<const std::byte* const> mbarriers, std::uint32_t bytes);
  void store(std::uint32_t slot, std::uint32_t warp, std::uint32_t bytes);
  // A barrier of the CTA. `warps`: how many it waits for; 0: all.
  void join_barrier(std::uint32_t slot, std::uint32_t warp, std::uint32_t number,
                    std::uint32_t warps);
  // The last instruction is over, and with it the cluster.
  void end_blocks();

  const std::vector<OpCounters>& ops() const { return ops_; }
  // By number of the block.
  const std::vector<BlockTrace>& blocks() const { return blocks_; }
  void join(Record&& other);

 private:
  void attribute();
  std::uint32_t open_phase(std::uint32_t slot);
  AsyncEvent* add_event(std::uint32_t slot, std::uint32_t warp, AsyncEvent::Kind kind,
                        std::uint32_t phase);

  std::vector<OpCounters> ops_;
  std::vector<BlockTrace> blocks_;
  std::size_t first_open_ = 0;  // of blocks_: rank 0 of the cluster that runs
  const Op* first_op_ = nullptr;
  std::size_t last_ = 0;       // instruction issued last
  WarpTrace* warp_ = nullptr;  // that issued it
  bool any_ = false;
  Counters before_;  // totals when it was issued
  SectorSet sectors_;
  std::array<ReuseClass, kReuseClasses> reuse_{};
  MbarrierNames mbarriers_;
};

}  // namespace fa_tune::emulator
