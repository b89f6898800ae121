#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/profiler/ncu_csv.hpp"
#include "engine/report/profile.hpp"

namespace fa_tune {

// All metrics that are asked of Nsight Compute. No chip has all of them.
std::vector<std::string> ncu_metrics();

// Makes a profile of the answer: shares, occupancy, stalls, time, every metric among the counters,
// and the limit. Source, version, device and the like are left to the caller. Throws MachineError
// without a time, and if not one share of a peak is known.
Profile profile_of(const NcuReport& report);

}  // namespace fa_tune
