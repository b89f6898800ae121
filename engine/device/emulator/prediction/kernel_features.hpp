#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"

namespace fa_tune::emulator {

// What tells kernels from each other that the model is off by as much for: of a simulated launch
// what its units and warps do with the time, how its grid fills the GPU, and what it executes. No
// gene, no shape and no name of a kernel is among them, and no rate of a GPU.
std::span<const std::string_view> kernel_feature_names();

// Their values, in that order. Empty for a kernel without products of tensor cores: none such was
// ever compared.
std::vector<double> kernel_features(const SimulatedLaunch& simulated,
                                    const KernelResources& resources);

}  // namespace fa_tune::emulator
