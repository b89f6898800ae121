#pragma once

#include "engine/device/cuda/driver_api.hpp"
#include "engine/device/device.hpp"

namespace fa_tune::cuda {

// Needs no context. Throws MachineError where the driver does not answer.
DeviceInfo describe_gpu(const DriverApi& api, int index, DeviceOrdinal device);

}  // namespace fa_tune::cuda
