#pragma once

#include <string>

#include "engine/device/emulator/prediction/prediction.hpp"

namespace fa_tune::emulator {

// Why the model does not cover what a kernel did, so that `predicted` must rank nothing, in one
// line; empty where it does. By what was executed: code that never ran costs nothing.
std::string not_modelled(const DeviceProfile& profile, const LaunchConfig& launch,
                         const Program& program, const Record& record, const Prediction& predicted);

}  // namespace fa_tune::emulator
