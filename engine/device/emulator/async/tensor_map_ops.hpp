#pragma once

#include "engine/device/emulator/memory/address_resolution.hpp"

namespace fa_tune::emulator {

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
  nothing,   // what has one legal value
};

// tensormap.replace (PTX ISA 9.0, "Data Movement and Conversion Instructions: tensormap.replace").
// r[8], m[0], m[2] and immediate: the map's address, as in access.hpp; r[0]: the new value, or
// none; m[4]: TensorMapField; m[5]: bytes of r[0].
void run_tensor_map_replace(LaneFile& lanes, const Op& op, std::uint32_t mask);

// tensormap.cp_fenceproxy: a warp copies a tensor map from shared to global memory, and tells the
// proxy of tensor maps. r[0]: address there; r[1]: address in shared memory; m[1] bit i: r[i] has 64
// bits; m[6]: 1, aligned. Operands that differ between lanes, of which the ISA says nothing, are refused.
void run_tensor_map_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
