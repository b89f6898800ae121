#include "engine/tuner/offload/device_stages.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/kernel/compile/compile_cache.hpp"
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

// The plain kernel, and the same in double.
constexpr std::size_t kReferencesOfShape = 2;

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
                         .seeds = seeds}),
        most_references_(task.problem->wants_reference() ? kReferencesOfShape * shapes_.size()
                                                         : 0) {}

  void run(Variant& variant, FinishedTrial& trial) override {
    OffloadedTrial work = describe(variant);
    for (;;) {
      work.run = untold_;
      TrialAnswer told;
      const auto done = device_.offload(
          encode(work), [&](const std::string& answer) { return take(answer, told); });
      // The device is lost, and nothing is known of the trial.
      if (!done) throw MachineError(done.error().message);
      untold_.reset();
      if (auto* findings = std::get_if<TrialFindings>(&told))
        return take_findings(std::move(*findings), trial);
      kernel::CompileRequest& wanted = std::get<ReferenceWanted>(told).request;
      const std::string key = kernel::cache_key(wanted, "");
      work.references.push_back(compile(std::move(wanted)));
      sent_references_.insert(key);
    }
  }

 private:
  // Into `told`, or what is wrong with it.
  std::expected<void, std::string> take(const std::string& answer, TrialAnswer& told) const {
    auto decoded = decode_trial_answer(answer);
    if (!decoded) return std::unexpected("it answered a trial with " + decoded.error());
    told = std::move(*decoded);
    const auto* wanted = std::get_if<ReferenceWanted>(&told);
    if (wanted == nullptr) return {};
    if (sent_references_.contains(kernel::cache_key(wanted->request, "")))
      return std::unexpected("it asks again for a reference kernel that it has");
    if (sent_references_.size() >= most_references_)
      return std::unexpected("it asks for more reference kernels than its trials have");
    return {};
  }

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
  std::size_t most_references_;
  std::set<std::string> sent_references_;  // by cache_key; the other side keeps them
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
