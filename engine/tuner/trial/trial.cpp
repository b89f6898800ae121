#include "engine/tuner/trial/trial.hpp"

#include <algorithm>

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

std::vector<gate::GateCase> cases_of_trials(const problem::Problem& problem,
                                            const device::Device& device, TrialSeeds seeds) {
  const bool measures = device.info().times == device::TimeKind::measured;
  return gate::trial_cases(problem, seeds.gate, gate::timed_shape_of_trials(problem, measures));
}

std::vector<Constants> shapes_of(const problem::Problem& problem,
                                 const std::vector<gate::GateCase>& cases) {
  std::vector<Constants> shapes = {problem.shape()};
  for (const gate::GateCase& each : cases)
    if (std::ranges::find(shapes, each.shape) == shapes.end()) shapes.push_back(each.shape);
  return shapes;
}

}  // namespace fa_tune::tuner
