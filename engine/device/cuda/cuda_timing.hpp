#pragma once

#include <expected>
#include <vector>

#include "engine/device/cuda/cuda_launch.hpp"

namespace fa_tune::cuda {

// Samples in microseconds a launch, as TimingPlan says. Several launches a sample are captured into
// a graph once and replayed; one launch a sample is put into the stream as it is. Samples are
// queued one ahead: while the GPU works on a sample the next one's events and graph are already
// waiting, so the time the host takes to submit them is in no sample. No more than that is queued,
// or a kernel that never ends would block the host inside the driver, out of the deadline's reach.
std::expected<std::vector<double>, Fault> sample_launches(CudaContext& context,
                                                          PreparedLaunch& launch,
                                                          const TimingPlan& plan);

}  // namespace fa_tune::cuda
