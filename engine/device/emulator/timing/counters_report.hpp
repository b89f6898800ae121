#pragma once

#include <string>

namespace fa_tune::emulator {

// A table for a person, at most 100 columns wide, from a prediction's detail_json: what bounds the
// kernel, how long each unit works, occupancy and what limits it, what warps wait for, sectors a
// request, the source lines with the most bank conflicts. Empty for a text that is no such object.
std::string counters_report(const std::string& detail_json);

}  // namespace fa_tune::emulator
