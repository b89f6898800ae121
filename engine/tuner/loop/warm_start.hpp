#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

// A run that a search learns from before its first trial, and how many of its trials: what was
// known when the search began, whatever the run did afterwards.
struct PriorRun {
  std::int64_t run = 0;
  std::int64_t trials = 0;
  std::string title;  // for people: "run 3: NVIDIA L4, {"B":1,...}"
};

// The runs of a database that a search of this space can learn from: of the same kind of problem,
// with right trials of configs that are valid here; devices may differ, and shapes by up to a
// factor of 32 in their operations: what much work wants is said with certainty and misleads a
// search for little. At most three: those on the device of that name first, then the nearest by
// their operations, then the newest.
std::vector<PriorRun> choose_prior_runs(const Store& store, const TuningTask& task,
                                        const std::string& device_name);
// One run, named by a person. Throws UserError where there is no such run or nothing in it is valid
// here.
PriorRun choose_prior_runs(const Store& store, const TuningTask& task, std::int64_t run);

std::vector<PriorTrials> load_prior_runs(const Store& store, const TuningTask& task,
                                         const std::vector<PriorRun>& choices);

// As it is kept with the run that learned: [{"run":3,"trials":120}].
std::string to_json(const std::vector<PriorRun>& choices);
// The choices in a run's options; none where it began cold.
std::vector<PriorRun> prior_runs_of(const RunRow& run);

}  // namespace fa_tune
