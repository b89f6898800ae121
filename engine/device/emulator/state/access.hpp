#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/device/emulator/ir/program.hpp"

// How an instruction reaches memory. Fields of Op for every memory instruction:
//   m[0] Space     m[1] bytes of one lane's access    m[2] bytes of the base register, 0: none
//   m[3] Type      m[4] values in a vector            m[5] bytes of a data register
//   m[6] MemoryOrder and MemoryScope, packed, of ld and st
//   r[0..3] data   r[8] base address                  immediate: offset

namespace fa_tune::emulator {

using Addresses = std::array<std::uint64_t, kWarpSize>;
using Pointers = std::array<std::byte*, kWarpSize>;

// How many bytes, and whether they are to be written.
struct Access {
  Space space = Space::generic;
  std::uint32_t bytes = 0;
  bool write = false;
  MemoryOrder order = MemoryOrder::plain;
  bool by_registers = false;              // ld and st: r[0..3] hold each lane's values
  MemoryScope scope = MemoryScope::none;  // of what is strong
  std::uint32_t align = 0;                // what the address must be a multiple of; 0: of `bytes`

  bool updates() const {
    return order >= MemoryOrder::update && order <= MemoryOrder::acq_rel_update;
  }
  bool reads() const { return !write || updates(); }
  // Atomic and the like: two of them never race if the scope of each includes the other's thread
  // (PTX ISA, "Memory Consistency Model: Morally Strong Operations").
  bool strong() const { return order != MemoryOrder::plain && order != MemoryOrder::copy; }
  bool releases() const {
    return order == MemoryOrder::releasing || order == MemoryOrder::releasing_update ||
           order == MemoryOrder::acq_rel_update;
  }
  bool acquires() const {
    return order == MemoryOrder::acquiring || order == MemoryOrder::acquiring_update ||
           order == MemoryOrder::acq_rel_update;
  }
};
// Two registers hold it.
static_assert(sizeof(Access) == 16);

// "shared", for messages.
std::string_view space_name(Space space);

// What one lane of a store writes; as many bytes as it has, from the front. r[first]: its first
// value.
std::array<std::byte, 16> stored_bytes(const LaneFile& lanes, const Op& op, int lane,
                                       std::size_t first = 0);

}  // namespace fa_tune::emulator
