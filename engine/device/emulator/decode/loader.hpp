#pragma once

#include <expected>
#include <string_view>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/state/global_memory.hpp"
#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

// Reads PTX and makes the kernel called `kernel` ready to run. The module's variables get memory in
// `memory` (Program::globals; the caller releases them). `rule`: the generation whose tensor
// cores compute. All of the kernel is checked here: what this returns can be executed, and what
// it refuses names the line of the PTX.
std::expected<Program, Diagnostic> load_program(std::string_view ptx, std::string_view kernel,
                                                TensorRule rule, GlobalMemory& memory);

}  // namespace fa_tune::emulator
