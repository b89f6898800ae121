#pragma once

#include <vector>

#include "engine/device/emulator/frontend/ast.hpp"
#include "engine/device/emulator/ir/source_lines.hpp"

namespace fa_tune::emulator {

// `places`: of each instruction, an index of module.places or -1.
SourceLines source_lines_of(const Module& module, const std::vector<int>& places);

}  // namespace fa_tune::emulator
