#pragma once

#include <nlohmann/json.hpp>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::bench {

// Which element of a matrix each register of each lane holds after wmma.load, which the PTX ISA
// leaves open: the matrix is filled with the places of its own elements and the registers are
// written out. One row a form: its instruction and, a register, the 32 lanes' contents (of packed
// elements, the lowest first).
nlohmann::ordered_json wmma_layouts(Device& device, Compiler& compiler);

}  // namespace fa_tune::bench
