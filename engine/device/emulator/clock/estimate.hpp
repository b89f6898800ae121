#pragma once

#include "engine/device/emulator/clock/sm_simulation.hpp"
#include "engine/device/emulator/timing_model.hpp"

namespace fa_tune::emulator {

// A time from CTAs that ran: the model at the top of estimate.cpp. `record` may hold a sample of
// the grid's CTAs; `footprint_bytes` are the global memory that the launch can reach.
Prediction estimate_time(const DeviceProfile& profile, const KernelResources& resources,
                         const LaunchConfig& launch, const Program& program, const Record& record,
                         double footprint_bytes);

}  // namespace fa_tune::emulator
