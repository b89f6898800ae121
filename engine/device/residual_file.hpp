#pragma once

#include <filesystem>
#include <memory>

#include "engine/device/emulator/target/residual_model.hpp"

namespace fa_tune::device {

// The model that tools/bench/emulator/clock/residuals wrote beside a profile: a JSON object with
//   "gpu"       "NVIDIA H200"
//   "kinds"     {"wgmma": {"kernels", "shapes", "low", "high", "apart"}, ...} (ResidualModel::Kind)
//   "features"  [["busy tensor", mean, deviation], ...], those of kernel_features.hpp in their order
//   "width"     of the Gaussian, in deviations
//   "limit"     of a feature, in deviations from its mean
//   "least likeness"  of a kernel to one of these (ResidualModel::Told), or nothing is said of it
//   "step"      what 1 stands for in a kernel's features, in deviations
//   "sets"      {"20261217 wgmma_2k_d128": [[ns, error, weight, feature, ...], ...], ...}: kernels, in
//               integers: simulated times, log(measured / simulated) and weights in 1/100,000
// Throws UserError that names the file and what is wrong with it.
std::shared_ptr<const emulator::ResidualModel> load_residuals(const std::filesystem::path& file);

}  // namespace fa_tune::device
