#pragma once

#include "engine/device/emulator/memory/address_resolution.hpp"

namespace fa_tune::emulator {

// cp.async: up to 16 bytes a lane.
void run_async_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_commit(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);

// Bulk copies and reductions: cp.async.bulk, cp.reduce.async.bulk and their tensor forms (PTX
// ISA 9.0, "Data Movement and Conversion Instructions: Asynchronous copy"). Fields of Op:
//   r[0] target address         r[1] source address           r[2] bytes
//   r[3] mbarrier's address     r[4] mask of CTAs, or none    r[5..9] coordinates
//   r[10] tensor map's address
//   m[0] Route                  m[1] bit i: r[i] has 64 bits  m[2] 0: copy, else 1 + Atomic
//   m[3] Type                   m[4] dimensions
enum class Route : std::uint8_t {
  load,   // global to the shared memory of a CTA or, with a mask, of several; ends on an mbarrier
  peer,   // shared memory to that of a CTA of the cluster; ends on an mbarrier there
  store,  // shared to global memory; ends with its bulk group
};

void run_bulk_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_tensor_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_bulk_commit(LaneFile& lanes, const Op& op, std::uint32_t mask);
// immediate: groups that may stay; m[0]: 1 if it waits for the reading of the sources alone.
void run_bulk_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);

// st.async (PTX ISA 9.0, "Data Movement and Conversion Instructions: st.async"): stores to the
// shared memory of a CTA of the cluster, which complete as bytes of an mbarrier there. Fields:
//   r[0] target address      r[3] mbarrier's address     m[1] bit i: r[i] has 64 bits
//   r[11..14] values         m[3] Type                   m[4] how many     m[5] bytes of a register
inline constexpr std::size_t kAsyncStoreValue = 11;  // of Op::r, the first
void run_async_store(LaneFile& lanes, const Op& op, std::uint32_t mask);

// What tensormap.replace changes of a tensor map.
enum class TensorMapField : std::uint8_t {
  address,
  rank,
  box,  // of the dimension m[3], as are the next three
  dim,
  stride,  // m[3] counts from dimension 1
  step,
  element,   // m[3]: TensorElement
  swizzle,   // m[3]: as in TensorMapBits
  nan_fill,  // m[3]: 0 or 1
  nothing,   // interleave_layout, of which one is known here
};

// tensormap.replace (PTX ISA 9.0, "Data Movement and Conversion Instructions: tensormap.replace").
// r[8], m[0], m[2] and immediate: the map's address, as in access.hpp; r[0]: the new value, or
// none; m[4]: TensorMapField; m[5]: bytes of r[0].
void run_tensor_map_replace(LaneFile& lanes, const Op& op, std::uint32_t mask);

// tensormap.cp_fenceproxy: a warp copies a tensor map from shared to global memory, and tells the
// proxy of tensor maps. r[0]: address there; r[1]: address in shared memory; m[1] bit i: r[i] has
// 64 bits; m[6]: 1, aligned. Operands that differ between lanes, of which the ISA says nothing, are
// refused.
void run_tensor_map_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);

// Bits of r[i] of a lane, of m[1]'s width; i is 0 to 3.
std::uint64_t bulk_operand(const LaneFile& lanes, const Op& op, std::size_t i, int lane);

// Where a copy into shared memory goes: addresses of shared::cluster, of the data and of the
// mbarrier that it completes on.
struct BulkTarget {
  std::uint64_t address = 0;
  std::uint64_t barrier = 0;
};
// The targets of a lane: one, or one in every CTA that its mask names, at the same place in each.
std::vector<BulkTarget> bulk_targets(const LaneFile& lanes, const Op& op, int lane);
// Completes `bytes` of the phase of a target's mbarrier (complete-tx). False after a report.
bool complete_bulk(Warp& warp, const Op& op, int lane, const BulkTarget& target,
                   std::uint32_t bytes);
void count_bulk(Warp& warp, std::uint64_t bytes);
// Tell the Record, if there is one, of a copy that is about to start.
void record_bulk_load(Warp& warp, const Op& op, int lane, const std::vector<BulkTarget>& targets,
                      std::uint32_t bytes);
void record_bulk_store(Warp& warp, std::uint32_t bytes);

// Tells the Sanitizer, if there is one, of a copy whose addresses are right.
// `source` is in shared memory, or null; `pieces` are what it accesses in global memory. False
// after a report.
struct GlobalPiece {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};
bool watch_bulk_load(Warp& warp, const Op& op, int lane, const std::vector<BulkTarget>& targets,
                     const std::byte* source, std::span<const GlobalPiece> pieces,
                     std::uint32_t bytes);
bool watch_bulk_store(Warp& warp, const Op& op, int lane, const std::byte* source,
                      std::span<const GlobalPiece> pieces, std::uint32_t bytes);

}  // namespace fa_tune::emulator
