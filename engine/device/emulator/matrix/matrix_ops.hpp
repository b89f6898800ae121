#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_mma_f64(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_stmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_movmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_ldmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_mma(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
