#pragma once

#include <cstdint>
#include <vector>

#include "db/store.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

// Who comes to a run's finals: the best by their screens, fastest first, and on a device that
// measures all presets besides. Those that an earlier session has taken through the finals keep the
// place that their screen gave them, or a resumed run would judge others; they may be refused by
// now.
std::vector<TrialRow> choose_finalists(const TuningTask& task, const Store& store,
                                       std::int64_t run);

}  // namespace fa_tune
