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

// What L1 has of what an SM's CTAs read.
struct L1Reuse {
  double again = 1;       // the share of what a CTA reads again that it still has
  double neighbours = 0;  // and of what another CTA of the SM reads too
};

// The sectors of an instruction's loads that L1 has: of those that its CTA has read before, and of
// those that a CTA before it on the same SM has.
double l1_hits(const OpCounters& op, const L1Reuse& l1);

// By instruction of the program.
std::vector<OpTraffic> traffic_per_execution(const MachineCode& code, const Record& record,
                                             const L1Reuse& l1);

}  // namespace fa_tune::emulator
