#pragma once

#include <expected>
#include <functional>

#include "engine/device/cuda/cuda_launch.hpp"
#include "engine/device/cuda/gpu_watch.hpp"
#include "engine/device/cuda/sample_prelude.hpp"

namespace fa_tune::cuda {

// Puts something into the stream, without waiting.
using Enqueue = std::function<std::expected<void, device::Fault>()>;

// What is timed, and the plan's changes to buffers.
struct TimedWork {
  Enqueue launch;
  std::size_t steps = 1;  // of a launch
  std::string doing;      // for messages
  Enqueue restore;
  Enqueue before_each;
};

// Takes samples as TimingPlan says. Several launches a sample, or steps of one, are captured into a
// graph once and replayed; one launch of one kernel a sample is put into the stream as it is, after
// what is to be restored and a flush if the cache is to be cold. Samples are queued one ahead: while
// the GPU works on a sample the next one's events and graph are already waiting, so the time the
// host takes to submit them is in no sample. No more than that is queued, or a kernel that never
// ends would block the host inside the driver, out of the deadline's reach. `before_each` becomes
// nodes of the same graph. What is restored may be done sooner than the host has submitted the rest,
// so `lead` comes behind it.
std::expected<device::Timing, device::Fault> time_launch(CudaContext& context,
                                                         const TimedWork& timed,
                                                         const device::TimingPlan& plan,
                                                         GpuWatch& watch, L2Flush& flush,
                                                         Lead& lead);

}  // namespace fa_tune::cuda
