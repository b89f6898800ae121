#include "engine/tuner/trial/compile_stage.hpp"

#include <algorithm>

#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/tuner/trial/resource_check.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::tuner {
namespace {

bool stop(FinishedTrial& trial, const std::string& stage, const Rejection& rejection) {
  fail(trial, stage, rejection);
  return false;
}

bool duplicate(FinishedTrial& trial, const std::string& stage, std::int64_t of) {
  trial.row.stage = stage;
  trial.row.outcome = Outcome::duplicate;
  trial.row.finding = to_text(Outcome::duplicate);
  trial.twin = of;
  return false;
}

// ptxas gave up on what makes a wgmma kernel fast: products run one after the other, or registers
// were not handed over (C7504 to C7519, wgmma and setmaxnreg).
bool is_degraded_wgmma(const std::string& warning) { return warning.starts_with("C75"); }

}  // namespace

CompileStage::CompileStage(const TuningTask& task, device::Device& device,
                           kernel::CompilePool& pool, const std::vector<gate::GateCase>& cases)
    : task_(task), device_(device), pool_(pool), duplicates_(task, cases) {}

std::vector<std::unique_ptr<Variant>> CompileStage::prepare(
    const std::vector<const Config*>& configs, HelperThreads& helpers) {
  std::vector<std::unique_ptr<Variant>> variants(configs.size());
  std::vector<DuplicateCheck::Plans> plans(configs.size());
  helpers.share(configs.size(), [&](std::size_t i) {
    variants[i] = make_variant(task_, *configs[i], pool_, device_);
    plans[i] = duplicates_.plan(*configs[i]);
  });
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const bool can_be_launched = plans[i].has_value();
    duplicates_.keep(*configs[i], std::move(plans[i]));
    // A known source is not compiled, nor is what cannot be launched.
    if (!can_be_launched || duplicates_.find_source(*configs[i], variants[i]->source().hash))
      continue;
    for (const Constants& shape : duplicates_.shapes()) variants[i]->begin(shape);
  }
  return variants;
}

std::unique_ptr<Variant> CompileStage::prepare(const Config& config) {
  HelperThreads none(0);
  return std::move(prepare({&config}, none).front());
}

bool CompileStage::pass(Variant& variant, FinishedTrial& trial) {
  const bool passes = passes_so_far(variant, trial);
  remember(trial.row);
  return passes;
}

bool CompileStage::pass_in_turn(FinishedTrial& trial) {
  const bool passes =
      differs_in_source(Config::from_json(trial.row.config_json), trial) && differs_in_code(trial);
  remember(trial.row);
  return passes;
}

bool CompileStage::differs_in_source(const Config& config, FinishedTrial& trial) {
  db::TrialRow& row = trial.row;
  const auto twin = duplicates_.find_source(config, row.source_hash);
  if (!twin) return true;
  // Nothing is said of a compile that would not have been.
  db::TrialRow bare;
  bare.run = row.run;
  bare.number = row.number;
  bare.operation = row.operation;
  bare.config_json = row.config_json;
  bare.source_hash = row.source_hash;
  row = std::move(bare);
  return duplicate(trial, "duplicate_source", *twin);
}

bool CompileStage::differs_in_code(FinishedTrial& trial) const {
  const auto twin = duplicates_.find_identity(trial.row.identity);
  return !twin || duplicate(trial, "duplicate_code", *twin);
}

bool CompileStage::passes_so_far(Variant& variant, FinishedTrial& trial) {
  db::TrialRow& row = trial.row;
  row.config_json = variant.config().to_json();
  row.source_hash = variant.source().hash;
  trial.source_text = variant.source().text;
  const auto& planned = duplicates_.plans(variant.config());
  if (!planned) return stop(trial, "resources", {"launch_limits", planned.error()});
  if (!differs_in_source(variant.config(), trial)) return false;

  const kernel::CompileOutcome& outcome = variant.compiled();
  fault_point("trial_compiled");
  if (!outcome)
    return stop(trial, "compile",
                {"compile_error", kernel::located(outcome.error(), variant.source())});
  if (const auto remark = std::ranges::find_if(outcome->warnings, is_degraded_wgmma);
      remark != outcome->warnings.end())
    return stop(trial, "compile", {"not_as_written", *remark});
  if (const auto kept = kernel::keeps_state(*outcome))
    return stop(trial, "compile", {"keeps_state", *kept});
  const KernelImage& image = outcome->image;
  const std::vector<PlannedKernel> kernels = planned->front().kernels();
  KernelResources resources;  // of the kernel that takes most
  LaunchConfig launch;
  for (const PlannedKernel& kernel : kernels) {
    resources = most_of(resources, image.entry(kernel.entry).resources);
    launch.dynamic_shared_bytes =
        std::max(launch.dynamic_shared_bytes, kernel.config.dynamic_shared_bytes);
  }
  row.compile_ms = outcome->milliseconds;
  row.code_hash = outcome->code_hash;
  row.registers = resources.registers;
  row.spill_bytes = resources.spill_store_bytes;
  row.static_shared_bytes = resources.static_shared_bytes;
  row.dynamic_shared_bytes = static_cast<int>(launch.dynamic_shared_bytes);

  for (const PlannedKernel& kernel : kernels) {
    const KernelEntry entry = image.entry(kernel.entry);
    auto rejection = check_resources(task_, device_.info(), entry.resources, kernel.config);
    if (!rejection) continue;
    if (kernels.size() > 1)
      rejection->message = plain_name(entry.kernel) + ": " + rejection->message;
    return stop(trial, "resources", *rejection);
  }
  row.identity = duplicates_.identity_of(variant);
  return differs_in_code(trial);
}

}  // namespace fa_tune::tuner
