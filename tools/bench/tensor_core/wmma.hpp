#pragma once

#include <nlohmann/json.hpp>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune::bench {

// Tiles of every form of wmma.mma (a row-major, b column-major), loaded and stored by wmma as well,
// on two devices: `tiles` of each, operands drawn as for single products. One row a form with the
// number of results and of those that are identical.
nlohmann::ordered_json compare_wmma(Device& one, Device& other, Compiler& compiler, int tiles,
                                    std::uint64_t seed);

}  // namespace fa_tune::bench
