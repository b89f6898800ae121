#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/task/tuning_task.hpp"

// The options that are kept with a run so that it can be resumed.
namespace fa_tune::tuner {

// A new run's row. `devices` are all of one kind.
db::RunRow describe_run(const TuningTask& task, const std::vector<std::string>& devices,
                        const device::DeviceInfo& device, const std::string& compiler,
                        const EvolveOptions& options);

// Throws UserError, which names `what`, if a run cannot be resumed because it has changed.
void require_same(const std::string& what, const std::string& stored, const std::string& now);

// The run's own. A run that is older than the batch policy goes on as it began.
BatchPolicy batch_policy_of(const db::RunRow& run);

// EvolveOptions::warm, as the run began.
bool is_warm(const db::RunRow& run);

// The share that a run's proposer had; nothing if it had none.
std::optional<double> proposer_share(const db::RunRow& run);

}  // namespace fa_tune::tuner
