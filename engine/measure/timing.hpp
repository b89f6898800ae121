#pragma once

#include <optional>
#include <string>

#include "engine/device/device.hpp"

namespace fa_tune {

// What is done with Timings of one launch, taken in the same way.

// Adds the samples of `more` behind those of `to`, with what is known of each.
void append(Timing& to, const Timing& more);
// Takes the throttled samples out.
void drop_throttled(Timing& timing);

// The median sample's, of a launch; nothing if the clock of some is not known.
std::optional<double> kilocycles_of(const Timing& timing);

// How the samples were taken and how the GPU was, as a JSON object; null where nobody knows:
//   {"samples":100,"launches_a_sample":20,"l2":"warm",
//    "sm_mhz":{"low":1740,"median":1755,"high":1755},"kilocycles":9.57,
//    "throttled_samples":0,"taken_again":0,
//    "held_down_by":["power limit"],"watts":412.5,"celsius":61,"readings":"available"}
// and "restored":true if what a launch writes over was given anew before each.
// For a prediction: its own detail.
std::string detail_json_of(const Timing& timing);

// The clock that a screen was taken at, from the same; 0 where it is not known.
double mhz_of(double us, const std::string& detail_json);

// What a kernel would take at a clock of `mhz`, from what detail_json_of() kept beside the `us`
// that it took. At its power limit a GPU's clock wanders by several percent within seconds, so
// screens taken at different times are told apart by their cycles and not by their microseconds.
// `us` where the clock is not known, as where the time is predicted.
double us_at_clock(double us, const std::string& detail_json, double mhz);

}  // namespace fa_tune
