#pragma once

#include <atomic>
#include <span>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// Runs, or resumes, a search. It asks the strategy, takes trials through their stages, writes them
// to the store in order, then takes the best and the presets through the finals. Each device, all
// of one kind, gates and times its own share of the trials, on a thread of its own; the result does
// not depend on how many there are. The store has all that is needed to resume: the strategy is
// told the stored trials again and so comes to where it was. `stop` is read between trials. Throws
// UserError if the devices are of several kinds, or if a run to resume does not fit (another space,
// device, or templates that have changed).
EvolveResult evolve(const TuningTask& task, std::span<device::Device* const> devices,
                    kernel::Compiler& compiler, db::Store& store, const EvolveOptions& options,
                    EvolveListener& listener, const std::atomic<bool>& stop);
EvolveResult evolve(const TuningTask& task, device::Device& device, kernel::Compiler& compiler,
                    db::Store& store, const EvolveOptions& options, EvolveListener& listener,
                    const std::atomic<bool>& stop);

}  // namespace fa_tune::tuner
