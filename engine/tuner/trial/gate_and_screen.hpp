#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune::tuner {

// The stages of a trial on one device: launch, gate, screen. One thread owns it, that of the
// device.
class GateAndScreen {
 public:
  // All must outlive it; the truths may be shared with other devices.
  GateAndScreen(const problem::Problem& problem, std::optional<Roofline> roofline,
                device::Device& device, gate::TruthCache& truth, TrialSeeds seeds);
  GateAndScreen(const TuningTask& task, device::Device& device, gate::TruthCache& truth,
                TrialSeeds seeds);

  // Writes into the trial's row whether it passed, and its time. CompileStage let it pass before.
  void run(Variant& variant, FinishedTrial& trial);
  // The same of a kernel that is bound otherwise. `image`: its own at the timed shape.
  void run(const gate::Binder& bind, const KernelImage& image, FinishedTrial& trial);
  // The screen alone, which sees the outputs of the timed shape: for a kernel that has passed the
  // gate at another shape.
  void screen(Variant& variant, FinishedTrial& trial);

 private:
  void screen(const gate::Binder& bind, const KernelImage& image, const std::string& note,
              FinishedTrial& trial);

  const problem::Problem& problem_;
  device::Device& device_;
  gate::TruthCache& truth_;
  std::vector<gate::GateCase> cases_;
  bool sees_timed_;  // whether one of them is of the timed shape
  gate::DeviceInputCache input_cache_;
  ValidatedTimer timer_;
  double fastest_us_ = std::numeric_limits<double>::infinity();  // of those that passed so far
};

}  // namespace fa_tune::tuner
