#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_wmma_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_wmma_store(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
