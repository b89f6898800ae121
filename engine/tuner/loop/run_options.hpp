#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/task/tuning_task.hpp"

// What is kept with a run so that it can be gone on with.
namespace fa_tune {

// A new run's row. `devices` are all of one kind.
RunRow describe_run(const TuningTask& task, const std::vector<std::string>& devices,
                    const DeviceInfo& device, const std::string& compiler,
                    const EvolveOptions& options);

// Throws UserError, which names `what`, if a run cannot be gone on with because it changed.
void require_same(const std::string& what, const std::string& stored, const std::string& now);

// A run from before there was a batch policy goes on as it began.
BatchPolicy batch_policy_of(const RunRow& run);

// EvolveOptions::warm as it was.
bool is_warm(const RunRow& run);

// The share that a run's proposer had; nothing if it had none.
std::optional<double> proposer_share(const RunRow& run);

}  // namespace fa_tune
