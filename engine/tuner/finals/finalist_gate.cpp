#include "engine/tuner/finals/finalist_gate.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/gate/gate.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

// The same launch without overlap; nothing if there is none.
std::optional<gate::BoundKernel> without_overlap(gate::BoundKernel bound) {
  bool overlaps = std::exchange(bound.launch.programmatic, false);
  for (PlannedStep& step : bound.steps)
    if (auto* kernel = std::get_if<PlannedKernel>(&step))
      overlaps |= std::exchange(kernel->config.programmatic, false);
  return overlaps ? std::optional(std::move(bound)) : std::nullopt;
}

}  // namespace

FinalistGate::FinalistGate(const TuningTask& task, device::Device& device,
                           kernel::CompilePool& pool, std::uint64_t seed,
                           const std::vector<std::string>& suites, const std::atomic<bool>& stop)
    : task_(task),
      device_(device),
      pool_(pool),
      stop_(stop),
      truth_(*task.problem, problem::Truth::thorough),
      input_cache_(device),
      timer_(*task.problem, task.target, device, truth_, derive_seed(seed, "final time"),
             ValidatedTimer::Proof::always, &input_cache_) {
  for (const problem::Suite& suite : problem::chosen_suites(*task.problem, suites)) {
    const auto cases =
        gate::gate_cases(suite, derive_seed(seed, "final gate"), gate::Crossing::full);
    cases_.insert(cases_.end(), cases.begin(), cases.end());
    if (suite.name == problem::SuiteName::mission && !cases.empty()) apart_ = {cases.front()};
  }
  const auto hidden = gate::hidden_cases(*task.problem, derive_seed(seed, "final gate"));
  cases_.insert(cases_.end(), hidden.begin(), hidden.end());
}

FinalVerdict FinalistGate::check(const db::TrialRow& trial) {
  FinalVerdict verdict;
  const Attempt ended = run_with_retry(device_, [&] { verdict = try_out(trial); });
  if (ended.charge) verdict = {.measured = std::unexpected(*ended.charge)};
  verdict.lost = ended.lost;
  return verdict;
}

std::unique_ptr<Variant> FinalistGate::begin(const db::TrialRow& trial) {
  const Config config = Config::from_json(trial.config_json);
  auto variant = make_variant(task_, config, pool_, device_);
  for (const gate::GateCase& each : cases_) variant->begin(each.shape);
  variant->begin();
  return variant;
}

void FinalistGate::prepare(const db::TrialRow& trial) { prepared_[trial.id] = begin(trial); }

void FinalistGate::finish_preparing() const {
  constexpr std::chrono::milliseconds kPause{5};
  for (const auto& [trial, variant] : prepared_)
    while (!variant->ready()) std::this_thread::sleep_for(kPause);
}

FinalVerdict FinalistGate::try_out(const db::TrialRow& trial) {
  auto prepared = prepared_.extract(trial.id);
  const auto variant = prepared ? std::move(prepared.mapped()) : begin(trial);
  const auto bind = [this, binder = variant->binder()](const Constants& shape) {
    if (stop_) throw Interrupted("interrupted between two cases of a finalist's gate");
    return binder(shape);
  };
  gate::Verdict verdict = gate::Gate(device_, truth_, &input_cache_).check(bind, cases_);
  // At the timed shape once without anything kept on the device.
  if (verdict.passed() && input_cache_.usable() && !apart_.empty())
    verdict = gate::Gate(device_, truth_).check(bind, apart_);
  const auto failed = [](const Rejection& rejection) {
    return FinalVerdict{.measured = std::unexpected(rejection)};
  };
  if (!verdict.passed()) return failed(verdict.rejection());
  const auto bound = variant->bind(task_.problem->shape());
  if (!bound) return failed({gate::Finding::kNotBound, bound.error()});
  FinalVerdict passed{.measured = timer_.time(*bound, measure::Effort::final_)};
  if (!passed.measured) return passed;
  if (device_.info().times == device::TimeKind::measured) {
    const auto cold = timer_.time_cold(*bound);
    // The kernel has just run with what it needs: what is short is what the flush needs.
    const bool no_flush = !cold && cold.error().finding == to_text(device::FaultKind::resources);
    if (!cold && !no_flush) return failed(cold.error());
    if (cold) passed.cold = *cold;
    if (const auto apart = without_overlap(*bound)) {
      const auto one_by_one = timer_.time(*apart, measure::Effort::final_);
      if (!one_by_one) return failed(one_by_one.error());
      passed.one_by_one = *one_by_one;
    }
  }
  fault_point("final_gated");
  return passed;
}

}  // namespace fa_tune::tuner
