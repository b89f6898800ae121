#pragma once

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// Gives the blocks of `code` the machine instructions that ptxas made of them (Program::machine_code)
// in place of those it may be expected to make. `record` says how often each block ran. A block
// whose machine code cannot be told keeps its steps; MachineCode::machine_share and ::unmatched say
// how much that is and why.
void use_machine_code(const Program& program, const DeviceProfile& profile, const Record& record,
                      MachineCode& code);

}  // namespace fa_tune::emulator
