#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/base/value.hpp"
#include "engine/report/final.hpp"

namespace fa_tune {

// A trial with the run it belongs to: what most reports speak of.
struct TrialOfRun {
  TrialRow trial;
  RunRow run;
  std::optional<RacedFinal> raced = {};
};

// Throws UserError where there is no such trial.
TrialOfRun require_trial(const Store& store, std::int64_t trial);

// A shape as it is kept, {"B":1,...}. Throws UserError for text of another form.
Constants shape_of(const std::string& json);

// "l4: attention B=1 D=64 on NVIDIA L4 (cuda:0, sm_89), measured times".
std::string context_text(const RunRow& run);

}  // namespace fa_tune
