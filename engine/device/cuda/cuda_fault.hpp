#pragma once

#include <string>

#include "engine/device/cuda/driver_api.hpp"
#include "engine/device/device.hpp"

namespace fa_tune::cuda {

// What a driver's error says about the kernel that was being loaded or run. An error that says
// nothing about it is device_lost.
FaultKind fault_kind(Result code);

// After these every later call in the process's context fails too: the GPU killed the context.
// Source: the comments of CUresult in cuda.h ("leaves the process in an inconsistent state").
bool is_sticky(Result code);

// One line: what was being done, and what the driver says.
Fault make_fault(const DriverApi& api, Result code, const std::string& doing);

}  // namespace fa_tune::cuda
