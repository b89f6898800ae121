#include "engine/tuner/trial/trial.hpp"

#include "engine/util/random.hpp"

namespace fa_tune::tuner {

void fail(db::TrialRow& row, const Rejection& rejection) {
  row.outcome = Outcome::failed;
  row.finding = rejection.finding;
  row.message = rejection.message;
}

void fail(FinishedTrial& trial, const std::string& stage, const Rejection& rejection) {
  trial.row.stage = stage;
  fail(trial.row, rejection);
}

TrialSeeds TrialSeeds::of(std::uint64_t seed) {
  return {derive_seed(seed, "gate"), derive_seed(seed, "timing")};
}

std::vector<gate::GateCase> cases_of_trials(const TuningTask& task, const device::Device& device,
                                            TrialSeeds seeds) {
  const bool measures = device.info().times == device::TimeKind::measured;
  return gate::trial_cases(*task.problem, seeds.gate,
                           gate::timed_shape_of_trials(*task.problem, measures));
}

}  // namespace fa_tune::tuner
