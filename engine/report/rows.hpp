#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/report/final.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune {

// A trial with the run it belongs to: what most reports speak of.
struct TrialOfRun {
  TrialRow trial;
  RunRow run;
  std::optional<RacedFinal> raced = {};
};

// The figure that a trial is shown with, beside its stage: that of its finals where there is one.
// For a reader alone: what is compared is compared by screens or by finals.
std::optional<Interval> shown_time(const TrialRow& trial);
std::optional<double> shown_us(const TrialRow& trial);

// What a gate that passed the trial did not look at, which finals do; empty if there is nothing.
std::string left_open(const TrialRow& trial);

// What its screen would have said at a clock of `mhz`: see us_at_clock().
std::optional<double> screen_at_clock(const TrialRow& trial, double mhz);

// Throws UserError where there is no such trial.
TrialOfRun require_trial(const Store& store, std::int64_t trial);

// A shape as it is kept, {"B":1,...}. Throws UserError for text of another form.
Constants shape_of(const std::string& json);

// "l4: attention B=1 D=64 on NVIDIA L4 (cuda:0, sm_89), measured times".
std::string context_text(const RunRow& run);

}  // namespace fa_tune
