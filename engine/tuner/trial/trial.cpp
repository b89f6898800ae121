#include "engine/tuner/trial/trial.hpp"

#include "engine/util/random.hpp"

namespace fa_tune {

void fail(TrialRow& row, const Rejection& rejection) {
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

std::vector<GateCase> cases_of_trials(const TuningTask& task, const Device& device,
                                      TrialSeeds seeds) {
  const bool measures = device.info().times == TimeKind::measured;
  return trial_cases(*task.problem, seeds.gate, timed_shape_of_trials(*task.problem, measures));
}

}  // namespace fa_tune
