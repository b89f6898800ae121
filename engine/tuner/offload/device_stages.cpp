#include "engine/tuner/offload/device_stages.hpp"

#include <algorithm>
#include <utility>

#include "engine/space_file/space_file.hpp"
#include "engine/tuner/offload/trial_messages.hpp"
#include "engine/tuner/task/roofline.hpp"
#include "engine/tuner/trial/gate_and_screen.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {
namespace {

class StagesHere final : public DeviceStages {
 public:
  StagesHere(const TuningTask& task, device::Device& device, gate::TruthCache& truth,
             TrialSeeds seeds)
      : device_(device), gate_and_screen_(task, device, truth, seeds) {}

  void run(Variant& variant, FinishedTrial& trial) override {
    // What was loaded belongs to this thread's device.
    struct Leaving {
      Variant& variant;
      ~Leaving() { variant.unload(); }
    };
    variant.move_to(device_);
    const Leaving leaving{variant};
    gate_and_screen_.run(variant, trial);
  }

 private:
  device::Device& device_;
  GateAndScreen gate_and_screen_;
};

class OffloadedStages final : public DeviceStages {
 public:
  OffloadedStages(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                  TrialSeeds seeds)
      : device_(device),
        pool_(pool),
        shapes_(shapes_of(*task.problem, cases_of_trials(*task.problem, device, seeds))),
        untold_(TrialRun{.problem_kind = task.file.problem_kind,
                         .problem_settings = task.file.problem_settings,
                         .problem_place = prefix(task.file.problem_mark),
                         .roofline = roofline_of(*task.problem, device.info(), task.target),
                         .seeds = seeds}) {}

  void run(Variant& variant, FinishedTrial& trial) override {
    OffloadedTrial work = describe(variant);
    for (;;) {
      work.run = untold_;
      const auto answer = device_.offload(encode(work));
      // The device is lost, and nothing is known of the trial.
      if (!answer) throw MachineError(answer.error().message);
      untold_.reset();
      auto told = decode_trial_answer(*answer);
      if (!told) throw MachineError(device_.info().id + " answered with " + told.error());
      if (auto* findings = std::get_if<TrialFindings>(&*told))
        return take_findings(std::move(*findings), trial);
      work.references.push_back(compile(std::move(std::get<ReferenceWanted>(*told).request)));
    }
  }

 private:
  OffloadedTrial describe(Variant& variant) const {
    OffloadedTrial work;
    std::vector<const KernelImage*> sent;
    for (const Constants& shape : shapes_) {
      const auto prepared = variant.prepare(shape);
      if (!prepared) {
        work.launches.push_back({shape, prepared.error(), 0, {}});
        continue;
      }
      const auto known = std::ranges::find(sent, &prepared->image);
      work.launches.push_back(
          {shape, "", static_cast<std::size_t>(known - sent.begin()), prepared->launch});
      if (known != sent.end()) continue;
      sent.push_back(&prepared->image);
      work.images.push_back(prepared->image);
    }
    return work;
  }

  CompiledReference compile(kernel::CompileRequest request) {
    auto outcome = pool_.submit(request).get();
    if (!outcome) return {std::move(request), std::move(outcome.error())};
    return {std::move(request), std::move(*outcome)};
  }

  device::Device& device_;
  kernel::CompilePool& pool_;
  std::vector<Constants> shapes_;
  std::optional<TrialRun> untold_;  // until the other side has it
};

}  // namespace

std::unique_ptr<DeviceStages> make_device_stages(const TuningTask& task, device::Device& device,
                                                 kernel::CompilePool& pool, gate::TruthCache& truth,
                                                 TrialSeeds seeds) {
  if (device.offloads() && !task.problem->reads_files())
    return std::make_unique<OffloadedStages>(task, device, pool, seeds);
  return std::make_unique<StagesHere>(task, device, truth, seeds);
}

}  // namespace fa_tune::tuner
