#include "engine/tuner/trial/gate_and_screen.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {
namespace {

// A kernel that takes this many times as long as the fastest gets only the quick look of three
// samples.
constexpr double kSlow = 1.5;

// Of several kernels each with what it takes; the row has the most of any.
std::string with_kernels(const std::string& detail_json, const gate::BoundKernel& bound,
                         const KernelImage& image) {
  if (bound.steps.empty()) return detail_json;
  auto detail = nlohmann::ordered_json::parse(detail_json);
  auto& list = detail["kernels"] = nlohmann::ordered_json::array();
  for (const PlannedStep& step : bound.steps) {
    const auto* kernel = std::get_if<PlannedKernel>(&step);
    if (kernel == nullptr) continue;
    const KernelEntry entry = image.entry(kernel->entry);
    list.push_back({{"kernel", plain_name(entry.kernel)},
                    {"registers", entry.resources.registers},
                    {"spill_bytes", entry.resources.spill_store_bytes},
                    {"static_shared_bytes", entry.resources.static_shared_bytes},
                    {"dynamic_shared_bytes", kernel->config.dynamic_shared_bytes}});
  }
  return detail.dump();
}

std::string with_note(const std::string& detail_json, const std::string& note) {
  if (note.empty()) return detail_json;
  auto detail = nlohmann::ordered_json::parse(detail_json, nullptr, false);
  if (!detail.is_object()) detail = nlohmann::ordered_json::object();
  detail["note"] = note;
  return detail.dump();
}

}  // namespace

GateAndScreen::GateAndScreen(const TuningTask& task, device::Device& device,
                             gate::TruthCache& truth, TrialSeeds seeds)
    : GateAndScreen(*task.problem, roofline_of(*task.problem, device.info(), task.target), device,
                    truth, seeds) {}

GateAndScreen::GateAndScreen(const problem::Problem& problem, std::optional<Roofline> roofline,
                             device::Device& device, gate::TruthCache& truth, TrialSeeds seeds)
    : problem_(problem),
      device_(device),
      truth_(truth),
      cases_(cases_of_trials(problem, device, seeds)),
      sees_timed_(std::ranges::any_of(
          cases_, [&](const gate::GateCase& each) { return each.shape == problem.shape(); })),
      input_cache_(device),
      timer_(problem, std::move(roofline), device, truth, seeds.timing,
             ValidatedTimer::Proof::where_measured, &input_cache_) {}

void GateAndScreen::run(Variant& variant, FinishedTrial& trial) {
  run(variant.binder(), variant.compiled().value().image, trial);
}

void GateAndScreen::run(const gate::Binder& bind, const KernelImage& image, FinishedTrial& trial) {
  db::TrialRow& row = trial.row;
  const Stopwatch gate_watch;
  const gate::Verdict verdict = gate::Gate(device_, truth_, &input_cache_).check(bind, cases_);
  row.gate_ms = gate_watch.milliseconds();
  row.gate_cases = verdict.cases;
  row.worst_ratio = verdict.worst_ratio;
  row.worst_rms = verdict.worst_rms;
  if (!verdict.passed()) {
    const bool unbound = verdict.finding == gate::Finding::kNotBound;
    fail(trial, unbound ? "launch" : "gate", verdict.rejection());
    return;
  }
  fault_point("trial_gated");
  screen(bind, image, verdict.note, trial);
}

void GateAndScreen::screen(Variant& variant, FinishedTrial& trial) {
  screen(variant.binder(), variant.compiled().value().image, "", trial);
}

void GateAndScreen::screen(const gate::Binder& bind, const KernelImage& image,
                           const std::string& note, FinishedTrial& trial) {
  db::TrialRow& row = trial.row;
  const Stopwatch measure_watch;
  const auto bound = bind(problem_.shape());
  if (!bound) {
    fail(trial, "launch", {gate::Finding::kNotBound, bound.error()});
    return;
  }
  const auto measured = timer_.time(*bound, measure::Effort::screen, kSlow * fastest_us_);
  row.measure_ms = measure_watch.milliseconds();
  fault_point("trial_timed");
  if (!measured) {
    const bool unbound = measured.error().finding == gate::Finding::kNotBound;
    fail(trial, unbound ? "launch" : "screen", measured.error());
    return;
  }
  row.stage = "screen";
  if (!sees_timed_) row.message = kNotAtTimedSize;
  row.outcome = Outcome::passed;
  row.finding = gate::Finding::kPassed;
  row.screen_time = db::ScreenTime{measured->time_us};
  fastest_us_ = std::min(fastest_us_, measured->time_us.value);
  row.detail_json =
      with_note(with_kernels(measure::detail_json_of(measured->timing), *bound, image), note);
  trial.samples_us = measured->timing.samples_us;
}

}  // namespace fa_tune::tuner
