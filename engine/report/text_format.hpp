#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "engine/model/interval.hpp"

namespace fa_tune::report {

// How reports write what rows hold. Text that is not of the expected form is shown as it stands: a
// report is no place to fail.

// {"template":"mma","BLOCK_M":64} -> "mma BLOCK_M=64"; a shape the same way.
std::string settings_text(const std::string& json);

// {"BLOCK_M":[64,32],"STAGES":[null,2]} -> "BLOCK_M 64 -> 32, STAGES none -> 2"; "-" for none.
std::string genes_text(const std::string& json);

// "80.12": microseconds with two decimals, four below one; "-" for none.
std::string time_text(std::optional<double> us);
// "79.90 .. 80.40" us, "-" where an end is not known.
std::string interval_text(const Interval& us);
// {"median","low","high"}, null for an end that is not known.
nlohmann::ordered_json interval_json(const Interval& interval);

// "96"; "-" for a count that is not known, which rows keep as -1.
std::string count_text(int count);

// "8.3/s", or "12 s each" where there are few.
std::string rate_text(int trials, double seconds);
// "95 s", "12m 05s": for people.
std::string format_seconds(double seconds);

// The part of the parent's time that was saved: "+20.0%" for 80 us after 100; "-" where either is
// missing.
std::string gain_text(std::optional<double> parent_us, std::optional<double> us);

}  // namespace fa_tune::report
