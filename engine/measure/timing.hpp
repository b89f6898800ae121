#pragma once

#include <optional>
#include <string>

#include "engine/device/device.hpp"

namespace fa_tune::measure {

// Operations on Timings of one launch, taken in the same way.

// Appends the samples of `more` to those of `to`, with the state of the GPU beside each.
void append(device::Timing& to, const device::Timing& more);
// Removes the throttled samples.
void drop_throttled(device::Timing& timing);

// Kilocycles of one launch, in the median sample; nothing if the clock of some samples is not
// known.
std::optional<double> kilocycles_of(const device::Timing& timing);

// How the samples were taken and how the GPU was, as a JSON object; null where nobody knows:
//   {"samples":100,"launches_a_sample":20,"l2":"warm",
//    "sm_mhz":{"low":1740,"median":1755,"high":1755},"kilocycles":9.57,
//    "throttled_samples":0,"taken_again":0,
//    "held_down_by":["power limit"],"watts":412.5,"celsius":61,"readings":"available"}
// and "restored":true if what a launch writes over was given anew before each. In finals, of what is
// launched programmatically, also "one_by_one_us":{"median","low","high"}: its time where no launch
// begins before the one in front of it has ended.
// For a prediction: its own detail.
std::string detail_json_of(const device::Timing& timing);
inline constexpr const char* kOneByOneUs = "one_by_one_us";

// The clock at which a screen was taken, from the same; 0 if it is not known.
double mhz_of(double us, const std::string& detail_json);

// The time that a kernel would take at a clock of `mhz`, from the `us` that it took and the
// detail_json_of() kept beside it. At its power limit a GPU's clock wanders by several percent
// within seconds, so screens taken at different times are compared by their cycles and not by their
// microseconds. Returns `us` if the clock is not known, as where the time is predicted.
double us_at_clock(double us, const std::string& detail_json, double mhz);

}  // namespace fa_tune::measure
