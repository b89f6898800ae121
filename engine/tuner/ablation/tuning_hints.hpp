#pragma once

#include "db/store.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/report/tuning_hints.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// The genes of `from` that move `limit`, those first that it moves most, with the values that a
// config has. This is for a kernel without its space: it knows no other values.
report::TuningHints next_moves(const kernel::Template& from, const Config& config,
                               Bottleneck limit);

// The same with the other values of the space `task`, which is the trial's. Each value is in the
// valid config nearest to the trial's, with what the trials of its run came to. Values that no
// valid config has are left out.
report::TuningHints next_moves(const db::Store& store, const db::TrialRow& trial,
                               const TuningTask& task, Bottleneck limit);

}  // namespace fa_tune::tuner
