#pragma once

#include <cstdint>
#include <vector>

#include "db/store.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// What the space knows as best (`known_best` in its file) beside the best trial of a run: all are
// gated and timed now, in the same way as trials, and raced on a device that measures. Nothing of it
// is recorded: no later search learns from it. Throws MachineError if the device is lost.
std::vector<KnownBest> compare_known_best(const TuningTask& task, device::Device& device,
                                          kernel::CompilePool& pool, const db::TrialRow& best,
                                          std::uint64_t seed);

}  // namespace fa_tune::tuner
