#pragma once

#include <cstddef>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_store(LaneFile& lanes, const Op& op, std::uint32_t mask);
// m[0] of a fence. memory: m[1] is its MemoryScope; proxy: fence.proxy.async, m[1]: bit i: ProxySpace i;
// made: fence.mbarrier_init; other: what it orders is not looked at.
enum class FenceKind : std::uint8_t { memory, proxy, made, other };
void run_fence(LaneFile& lanes, const Op& op, std::uint32_t mask);
// griddepcontrol.wait
void run_wait_dependencies(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_clock(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_isspacep(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_nothing(LaneFile& lanes, const Op& op, std::uint32_t mask);

enum class Atomic : std::uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exch, cas };
void run_atomic(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_atomic_quad(LaneFile& lanes, const Op& op, std::uint32_t mask);
// Each element of 2, 4 or 8 bytes at `to` becomes, atomically, its combination with the one at
// `from`.
void reduce_elements(Atomic what, Type type, std::byte* to, const std::byte* from,
                     std::size_t bytes);

}  // namespace fa_tune::emulator
