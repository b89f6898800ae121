#pragma once

#include <nlohmann/json.hpp>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// What was simulated as Prediction::detail_json has it.
nlohmann::ordered_json detail_of(const SimulatedLaunch& simulated, const Program& program,
                                 const Record& record);

// Three decimals of a microsecond are a nanosecond: more would feign a precision that no model has.
double rounded_us(double us);

}  // namespace fa_tune::emulator
