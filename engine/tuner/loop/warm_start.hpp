#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// A run that a search learns from before its first trial. `trials` is how many it had when the
// search began, and only these count, whatever the run did afterwards.
struct PriorRun {
  std::int64_t run = 0;
  std::int64_t trials = 0;
  std::string title;  // for people: "run 3: NVIDIA L4, {"B":1,...}"
  // The number of its trial that the database names for the very problem, shape and device of the
  // new run (report::held_pick): it is tried again and comes to the finals. 0 for none.
  std::int64_t pick = 0;
};

// Chooses the runs of a database that a search of this space can learn from. They have the same
// kind of problem, and trials that passed with configs that are valid here. Devices may differ, and
// shapes by up to a factor of 32 in their operations: a run of far more work is sure about what
// does not hold for little work. It takes at most three: the run of the pick first, then those on
// the device of that name, then the nearest by their operations, then the newest.
std::vector<PriorRun> choose_prior_runs(const db::Store& store, const TuningTask& task,
                                        const std::string& device_name);
// The choice of one run, which a person named. Throws UserError if there is no such run or nothing
// in it is valid here.
PriorRun choose_prior_runs(const db::Store& store, const TuningTask& task, std::int64_t run);

std::vector<search::PriorTrials> load_prior_runs(const db::Store& store, const TuningTask& task,
                                                 const std::vector<PriorRun>& choices);

// The form that is kept with the run that learned: [{"run":3,"trials":120,"pick":57}], without a
// pick where there is none.
std::string to_json(const std::vector<PriorRun>& choices);
// The choices that a run's options hold; none if it began cold.
std::vector<PriorRun> prior_runs_of(const db::RunRow& run);
// The config of the pick among the choices of a run; nothing if it has none.
std::optional<Config> earlier_pick(const db::Store& store, const db::RunRow& run);

}  // namespace fa_tune::tuner
