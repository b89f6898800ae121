#pragma once

#include <optional>

#include "engine/device/device.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/model/rejection.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// A variant that spills more bytes a thread fails before it is run. Small spills can win with
// mma.sync; beyond this, in a sweep of 350 variants on an H100, none came within 2x of the best.
constexpr int kMostSpillBytes = 512;

// Why a compiled kernel cannot be launched on the target or is not worth it: too much shared
// memory, too many registers, too many spills. Nothing if it can be.
std::optional<Rejection> check_resources(const TuningTask& task, const device::DeviceInfo& device,
                                         const KernelResources& resources,
                                         const LaunchConfig& launch);

}  // namespace fa_tune::tuner
