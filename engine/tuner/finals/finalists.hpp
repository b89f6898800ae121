#pragma once

#include <cstdint>
#include <vector>

#include "db/store.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// Chooses a run's finalists: the best by their screens, fastest first, and on a device that
// measures all presets too, and what the database names for the same problem, shape and device (its
// place is to be raced for). Trials that an earlier session has taken through the finals keep the
// place of their screens, even those that failed there. Otherwise a resumed run would choose
// others.
std::vector<db::TrialRow> choose_finalists(const TuningTask& task, const db::Store& store,
                                           std::int64_t run);

}  // namespace fa_tune::tuner
