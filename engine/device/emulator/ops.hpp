#pragma once

#include <cstddef>

#include "engine/device/emulator/ir/program.hpp"

// Handlers of instructions that reach beyond a lane: memory, other lanes, tensor cores. Each file
// says at its top which fields of Op it reads.

namespace fa_tune::emulator {

// memory_ops.cpp
void run_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_store(LaneFile& lanes, const Op& op, std::uint32_t mask);
// m[0] of a fence: what it orders accesses for. proxy: fence.proxy.async.
enum class FenceKind : std::uint8_t { cta, gpu, proxy };
void run_fence(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_clock(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_isspacep(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_nothing(LaneFile& lanes, const Op& op, std::uint32_t mask);

// call_ops.cpp
void run_wrong_call(LaneFile& lanes, const Op& op, std::uint32_t mask);

// atomic_ops.cpp
enum class Atomic : std::uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exch, cas };
void run_atomic(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_atomic_quad(LaneFile& lanes, const Op& op, std::uint32_t mask);
// Each element of 2, 4 or 8 bytes at `to` becomes, atomically, its combination with the one at
// `from`.
void reduce_elements(Atomic what, Type type, std::byte* to, const std::byte* from,
                     std::size_t bytes);

// async_ops.cpp
void run_async_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_commit(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);

// wmma_ops.cpp
void run_wmma_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_wmma_store(LaneFile& lanes, const Op& op, std::uint32_t mask);

// matrix_ops.cpp
void run_mma_f64(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_stmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_movmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_ldmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_mma(LaneFile& lanes, const Op& op, std::uint32_t mask);

// warp_ops.cpp
enum class Shuffle : std::uint8_t { up, down, bfly, idx };
enum class Vote : std::uint8_t { all, any, uni, ballot };
enum class Redux : std::uint8_t { add, min_u, max_u, min_s, max_s, bit_and, bit_or, bit_xor };
void run_shuffle(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_vote(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_match(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_redux(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_elect(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_active_mask(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
