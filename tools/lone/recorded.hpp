#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/lone/kernel_file.hpp"

namespace fa_tune {

// What of a device's outputs is kept in a file: of each buffer the SHA-256 of its bytes (every NaN
// written as the same one) and some of its elements, so that where bits may differ there is still
// something to hold another device against.
nlohmann::ordered_json record(const KernelFile& kernel, const std::vector<LoneOutput>& outputs);

// What is wrong with outputs held against a record; empty if nothing.
std::string refute(const KernelFile& kernel, const std::vector<LoneOutput>& outputs,
                   const nlohmann::ordered_json& recorded);

// "exact", "2 ulp", "absolute 1e-06".
std::string describe(const Agreement& agreement);

}  // namespace fa_tune
