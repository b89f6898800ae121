#pragma once

#include <memory>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {

// The stages of a trial that want a device: launch, gate, screen. One thread owns it, that of the
// device.
class DeviceStages {
 public:
  virtual ~DeviceStages() = default;
  // Writes into the trial's row whether it passed, and its time. CompileStage let it pass before.
  // The variant keeps nothing of the device.
  virtual void run(Variant& variant, FinishedTrial& trial) = 0;
};

// On the device, whose calls are then those of GateAndScreen; or, where a program beside it does
// whole pieces of work (Device::offloads), there, by one call a trial. Problems whose data are in
// files of this machine's stay here. All must outlive it; the truths may be shared with other
// devices.
std::unique_ptr<DeviceStages> make_device_stages(const TuningTask& task, device::Device& device,
                                                 kernel::CompilePool& pool, gate::TruthCache& truth,
                                                 TrialSeeds seeds);

}  // namespace fa_tune::tuner
