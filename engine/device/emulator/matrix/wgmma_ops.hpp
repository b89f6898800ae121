#pragma once

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Each warp of a warpgroup
// computes the 16 rows of D that are its own; that all four execute the same is the kernel's duty.

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

}  // namespace fa_tune::emulator
