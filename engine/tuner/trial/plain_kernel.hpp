#pragma once

#include <cstdint>
#include <optional>

#include "db/store.hpp"
#include "engine/gate/gate.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

// Times the plain kernel of the task's problem as it was given (Problem::plain_kernel): at the timed
// shape, on the device that trials run on, as they are screened. A message where it cannot be timed;
// nothing if the problem has none, or if no process that could run it is left. `seed`: that of the
// trials' clock.
std::optional<db::PlainKernelRow> time_plain_kernel(const TuningTask& task, device::Device& device,
                                                    kernel::CompilePool& pool,
                                                    gate::TruthCache& truth, std::uint64_t seed);

}  // namespace fa_tune::tuner
