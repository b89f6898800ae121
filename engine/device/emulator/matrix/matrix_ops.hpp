#pragma once

#include <cstdint>

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

void run_mma_f64(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_stmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_movmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_ldmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_mma(LaneFile& lanes, const Op& op, std::uint32_t mask);

void run_wmma_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_wmma_store(LaneFile& lanes, const Op& op, std::uint32_t mask);

// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Each warp of a warpgroup
// computes the 16 rows of D that are its own; that all four execute the same is the kernel's duty.
//
// r[0..3]: A in registers; r[4]: its descriptor otherwise; r[5]: B's descriptor; r[6]: predicate: d
// is added to, m[0]: it is negated; target: number of the WgmmaForm; m[6]: 1; immediate:
// floating-point operations of the warp.
void run_wgmma(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_wgmma_fence(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_wgmma_commit(LaneFile& lanes, const Op& op, std::uint32_t mask);
// immediate: groups that may stay.
void run_wgmma_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);

// Before instruction number `pc` while wgmma operations are under way, or in a checked launch: one
// that touches their sums completes them first, as ptxas has it wait (C7514), and is in the
// wrong unless it is a move. False after a report.
bool check_wgmma_registers(Warp& warp, std::uint32_t pc);

// Every lane holds a part of a matrix, so threads that have exited are missed: reports it
// and returns false.
bool whole_warp(Warp& warp, const Op& op, std::uint32_t mask);

// Counts the floating-point operations that op.immediate names.
void count_tensor(LaneFile& lanes, const Op& op);

// An 8 x 8 matrix of 16-bit elements, row r in lanes 4r to 4r + 3, to its transpose.
void transpose_8x8(const std::uint32_t* from, std::uint32_t* to);

}  // namespace fa_tune::emulator
