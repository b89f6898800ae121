#pragma once

#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// What an instruction moves, on average over its executions.
struct OpTraffic {
  double wavefronts = 0;  // in shared memory
  double sectors = 0;     // between the SM and L2; bulk copies are in the trace
};

// By instruction of the program.
std::vector<OpTraffic> traffic_per_execution(const MachineCode& code, const Record& record);

}  // namespace fa_tune::emulator
