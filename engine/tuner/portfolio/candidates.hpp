#pragma once

#include <optional>
#include <vector>

#include "db/store.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// A trial's screen at a clock, with its interval; nothing if it has none.
std::optional<db::ScreenTime> screen_of(const db::TrialRow& trial, double mhz);

// The order in which a shape's trials, given the best first, are candidates of a portfolio. First
// the fastest of each way to divide the work (Template::division_parameters) that takes at most
// 1.3 times the best's time, since kernels that divide it alike are fast at the same shapes. Of
// these, blocks of each number of threads have their turns. Then all others.
std::vector<const db::TrialRow*> candidates_in_order(
    const TuningTask& task, const std::vector<const db::TrialRow*>& trials);

}  // namespace fa_tune::tuner
