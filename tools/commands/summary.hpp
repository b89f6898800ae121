#pragma once

#include <string>

#include "db/store.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::commands {

// What a run came to, for a person: the best kernel beside every preset and the plain kernel, and
// the commands that lead on. `db` is the database's path as the user typed it.
std::string summarize(const tuner::TuningTask& task, const db::Store& store,
                      const tuner::EvolveResult& result, const std::string& db);

// The same for programs, an object; stable:
//   run, trials {all, passed, failed, duplicate}  integers     state  done, interrupted
//   seconds     of the search, earlier sessions included
//   best        null, or {trial, config, stage, time_us {median, low, high, kind}} and, where it is
//               predicted, prediction {rests_on, told_apart_from, not_told_apart}
//   baseline_us the first preset's screen, or null
//   plain_us    the plain kernel's, or null
//   known_best  of the space, each {name, ratio of its time to the best's or null, message}
//   breakdown   of this session's search (engine/tuner/loop/breakdown.hpp)
std::string summary_json(const db::Store& store, const tuner::EvolveResult& result);

// Tells how much of the timed shape's output is compared with float64, where that is not all of it.
void announce_coverage(const problem::Problem& problem);

}  // namespace fa_tune::commands
