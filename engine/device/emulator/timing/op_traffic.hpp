#pragma once

#include <vector>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// What an instruction moves, on average over its executions.
struct OpTraffic {
  double wavefronts = 0;  // in shared memory and L1
  double sectors = 0;     // between the SM and L2; bulk copies are in the trace
  double hits = 0;        // share of its sectors that L1 has
};

// By instruction of the program. `l1_keeps`: the share of what a CTA reads again that L1 still has.
std::vector<OpTraffic> traffic_per_execution(const MachineCode& code, const Record& record,
                                             double l1_keeps);

}  // namespace fa_tune::emulator
