#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_async_copy(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_commit(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_async_wait(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
