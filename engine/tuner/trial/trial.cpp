#include "engine/tuner/trial/trial.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/kernel/compile/persistent_state.hpp"
#include "engine/measure/timing.hpp"
#include "engine/tuner/task/kernel_identity.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune {
namespace {

// Of what takes so many times as long as the fastest right one no more is asked.
constexpr double kSlow = 1.5;

bool refuse(FinishedTrial& trial, const std::string& stage, const Rejection& rejection) {
  trial.row.stage = stage;
  refuse(trial.row, rejection);
  return false;
}

bool duplicate(FinishedTrial& trial, const std::string& stage, std::int64_t of) {
  trial.row.stage = stage;
  trial.row.outcome = "duplicate";
  trial.row.finding = "duplicate";
  trial.twin = of;
  return false;
}

// ptxas gave up on what makes a wgmma kernel fast: products run one after the other, or registers
// were not handed over (C7504 to C7519, wgmma and setmaxnreg).
bool is_other_kernel(const std::string& warning) { return warning.starts_with("C75"); }

}  // namespace

void refuse(TrialRow& row, const Rejection& rejection) {
  row.outcome = "refused";
  row.finding = rejection.finding;
  row.message = rejection.message;
}

TrialSeeds TrialSeeds::of(std::uint64_t seed) {
  return {derive_seed(seed, "gate"), derive_seed(seed, "timing")};
}

std::vector<GateCase> cases_of_trials(const TuningTask& task, const Device& device,
                                      TrialSeeds seeds) {
  const bool measures = device.info().times == TimeKind::measured;
  return trial_cases(*task.problem, seeds.gate,
                     timed_shape_of_trials(*task.problem, measures));
}

CompileStage::CompileStage(const TuningTask& task, Device& device, CompilePool& pool,
                     const std::vector<GateCase>& cases)
    : task_(task), device_(device), pool_(pool), shapes_({task.problem->shape()}) {
  for (const GateCase& each : cases)
    if (std::ranges::find(shapes_, each.shape) == shapes_.end()) shapes_.push_back(each.shape);
}

std::expected<std::vector<PlannedLaunch>, std::string> CompileStage::plans(
    const Config& config) const {
  const Template& from = task_.template_of(config);
  std::vector<PlannedLaunch> plans;
  for (const Constants& shape : shapes_) {
    auto planned = from.plan(config, task_.scope(shape));
    if (!planned) return std::unexpected(planned.error() + " (" + to_json(shape) + ")");
    plans.push_back(std::move(*planned));
  }
  return plans;
}

std::string CompileStage::identity_of_source(const Config& config, const std::string& source_hash,
                                          const std::vector<PlannedLaunch>& plans) const {
  // Templates may share a source and have other compiler options.
  const std::string code = task_.template_of(config).name() + " " + source_hash;
  KernelIdentity identity;
  for (const PlannedLaunch& planned : plans) identity.add_shape(code, planned);
  return identity.hash();
}

std::string CompileStage::identity_of_code(Variant& variant,
                                        const std::vector<PlannedLaunch>& plans) const {
  KernelIdentity identity;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    identity.add_shape(variant.code_at(shapes_[i]), plans[i]);
  return identity.hash();
}

std::unique_ptr<Variant> CompileStage::prepare(const Config& config) {
  auto variant = make_variant(task_, config, pool_, device_);
  // What is seen before is not compiled, nor what cannot be launched.
  const auto planned = plans(config);
  if (!planned ||
      trial_of_source_.contains(identity_of_source(config, variant->source().hash, *planned)))
    return variant;
  for (const Constants& shape : shapes_) variant->begin(shape);
  return variant;
}

bool CompileStage::gate_and_time(Variant& variant, FinishedTrial& trial) {
  const bool goes_on = pass_stages(variant, trial);
  remember(trial.row);
  return goes_on;
}

bool CompileStage::pass_stages(Variant& variant, FinishedTrial& trial) {
  TrialRow& row = trial.row;
  row.config_json = variant.config().to_json();
  row.source_hash = variant.source().hash;
  trial.source_text = variant.source().text;
  const auto planned = plans(variant.config());
  if (!planned) return refuse(trial, "resources", {"launch_limits", planned.error()});
  const auto known_source =
      trial_of_source_.find(identity_of_source(variant.config(), row.source_hash, *planned));
  if (known_source != trial_of_source_.end())
    return duplicate(trial, "duplicate_source", known_source->second);

  const CompileOutcome& outcome = variant.compiled();
  fault_point("trial_compiled");
  if (!outcome) return refuse(trial, "compile", {"compile_error", outcome.error().message});
  if (const auto remark = std::ranges::find_if(outcome->warnings, is_other_kernel);
      remark != outcome->warnings.end())
    return refuse(trial, "compile", {"not_as_written", *remark});
  if (const auto kept = keeps_state(*outcome))
    return refuse(trial, "compile", {"keeps_state", *kept});
  const KernelResources& resources = outcome->image.resources;
  const LaunchConfig& launch = planned->front().config;
  row.compile_ms = outcome->milliseconds;
  row.code_hash = outcome->code_hash;
  row.registers = resources.registers;
  row.spill_bytes = resources.spill_store_bytes;
  row.static_shared_bytes = resources.static_shared_bytes;
  row.dynamic_shared_bytes = static_cast<int>(launch.dynamic_shared_bytes);

  const int shared = std::max(0, resources.static_shared_bytes) + row.dynamic_shared_bytes;
  const int shared_limit =
      std::min(task_.target.shared_per_block, device_.info().shared_per_block);
  if (shared > shared_limit)
    return refuse(trial, "resources",
                  {"shared_memory", fmt::format("{} bytes of shared memory a block, {} are there",
                                                shared, shared_limit)});
  const auto threads = static_cast<std::int64_t>(launch.block.count());
  if (threads > task_.target.max_threads_per_block ||
      threads * resources.registers > task_.target.registers_per_block)
    return refuse(
        trial, "resources",
        {"registers", fmt::format("{} threads of {} registers, a block has {}", threads,
                                  resources.registers, task_.target.registers_per_block)});
  if (resources.spill_store_bytes > kMostSpillBytes)
    return refuse(trial, "resources",
                  {"spills", fmt::format("{} bytes a thread are spilled, at most {} are accepted",
                                         resources.spill_store_bytes, kMostSpillBytes)});
  row.identity = identity_of_code(variant, *planned);
  if (const auto known = trial_of_identity_.find(row.identity); known != trial_of_identity_.end())
    return duplicate(trial, "duplicate_code", known->second);
  return true;
}

TrialRunner::TrialRunner(const TuningTask& task, Device& device, TruthCache& truth, TrialSeeds seeds)
    : task_(task),
      device_(device),
      truth_(truth),
      cases_(cases_of_trials(task, device, seeds)),
      sees_timed_(std::ranges::any_of(
          cases_, [&](const GateCase& each) { return each.shape == task.problem->shape(); })),
      input_cache_(device),
      timer_(*task.problem, task.target, device, truth, seeds.timing,
               ValidatedTimer::Proof::where_measured, &input_cache_) {}

void TrialRunner::judge(Variant& variant, FinishedTrial& trial) {
  TrialRow& row = trial.row;
  const Stopwatch gate_watch;
  const Verdict verdict = Gate(device_, truth_, &input_cache_).check(variant.binder(), cases_);
  row.gate_ms = gate_watch.milliseconds();
  row.gate_cases = verdict.cases;
  row.worst_ratio = verdict.worst_ratio;
  row.worst_rms = verdict.worst_rms;
  if (!verdict.right()) {
    const bool unbound = verdict.finding == Finding::not_bound;
    refuse(trial, unbound ? "launch" : "gate", verdict.rejection());
    return;
  }
  fault_point("trial_gated");

  const Stopwatch measure_watch;
  const auto bound = variant.bind(task_.problem->shape());
  if (!bound) {
    refuse(trial, "launch", {Finding::not_bound, bound.error()});
    return;
  }
  const auto measured = timer_.time(*bound, Effort::screen, kSlow * fastest_us_);
  row.measure_ms = measure_watch.milliseconds();
  fault_point("trial_timed");
  if (!measured) {
    refuse(trial, "screen", measured.error());
    return;
  }
  row.stage = "screen";
  if (!sees_timed_) row.message = not_at_timed_size;
  row.outcome = "right";
  row.finding = "right";
  row.screen_time = ScreenTime{measured->time_us};
  fastest_us_ = std::min(fastest_us_, measured->time_us.value);
  row.detail_json = detail_json_of(measured->timing);
  trial.samples_us = measured->timing.samples_us;
}

void CompileStage::remember(const TrialRow& row) {
  if (row.outcome == "duplicate") return;
  const Config config = Config::from_json(row.config_json);
  if (const auto planned = plans(config); planned && !row.source_hash.empty())
    trial_of_source_.try_emplace(identity_of_source(config, row.source_hash, *planned), row.number);
  if (!row.identity.empty()) trial_of_identity_.try_emplace(row.identity, row.number);
}

}  // namespace fa_tune
