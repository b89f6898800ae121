#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_wrong_call(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
