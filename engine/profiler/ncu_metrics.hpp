#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/profiler/ncu_csv.hpp"
#include "engine/report/profile.hpp"

namespace fa_tune {

// All metrics that are asked of Nsight Compute. No chip has all of them.
std::vector<std::string> ncu_metrics();

// What is read of the answer: shares, occupancy, stalls, time, every metric among the counters;
// judged. Source, version, device and the like are the caller's. Throws MachineError without a
// time, and where not one share of a peak is known.
Profile profile_of(const NcuReport& report);

}  // namespace fa_tune
