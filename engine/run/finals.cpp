#include "engine/run/finals.hpp"

#include <algorithm>
#include <map>

#include "engine/base/fault_point.hpp"
#include "engine/base/random.hpp"
#include "engine/gate/gate.hpp"
#include "engine/run/clocked.hpp"
#include "engine/run/survive.hpp"
#include "engine/run/variant.hpp"

namespace fa_tune {
namespace {

// How many of the best are measured again: enough that the truly fastest is among them although
// screens differ by a few percent, few enough to take seconds.
constexpr int kFinalists = 12;

class Finals {
 public:
  Finals(const Project& project, Device& device, CompilePool& pool, Store& store,
         std::uint64_t seed, const std::vector<std::string>& suites)
      : project_(project),
        device_(device),
        pool_(pool),
        store_(store),
        truth_(*project.problem),
        clocked_(*project.problem, project.target, device, truth_, derive_seed(seed, "final time"),
                 Clocked::Proof::always) {
    for (const Suite& suite : project.problem->suites()) {
      if (!suites.empty() && std::ranges::find(suites, suite.name) == suites.end()) continue;
      const auto cases = gate_cases(suite, derive_seed(seed, "final gate"));
      cases_.insert(cases_.end(), cases.begin(), cases.end());
    }
    const auto hidden = hidden_cases(*project.problem, derive_seed(seed, "final gate"));
    cases_.insert(cases_.end(), hidden.begin(), hidden.end());
  }

  // True if the trial still stands. Says nothing of it if the device was lost.
  bool judge(TrialRow& trial) {
    Judged judged;
    const Survival survival = survive(device_, [&] { judged = try_out(trial); });
    if (survival.lost) return false;
    if (survival.death)
      judged = {{}, deadly_finding(*survival.death), deadly_message(*survival.death)};
    if (!judged.measured) {
      trial.outcome = "refused";
      trial.finding = judged.finding;
      trial.message = judged.message;
      store_.refuse_final(trial.id, judged.finding, judged.message);
      return false;
    }
    const Estimate& time = judged.measured->time_us;
    trial.stage = "final";
    trial.time_us = time.median;
    trial.time_low_us = time.low;
    trial.time_high_us = time.high;
    store_.record_final(trial.id, time.median, time.low, time.high,
                        judged.measured->timing.samples_us);
    return true;
  }

 private:
  // A measurement, or why there is none.
  struct Judged {
    std::optional<Measurement> measured;
    std::string finding;
    std::string message;
  };

  Judged try_out(const TrialRow& trial) {
    const Config config = Config::from_json(trial.config_json);
    Variant variant(
        project_.template_of(config), *project_.problem,
        [this](const Constants& shape) { return project_.scope(shape); }, config, pool_, device_);
    const Verdict verdict = Gate(device_, truth_).check(variant.binder(), cases_);
    if (!verdict.right())
      return {{}, to_text(verdict.finding), verdict.message + " (" + verdict.where + ")"};
    const auto bound = variant.bind(project_.problem->shape());
    if (!bound) return {{}, to_text(Finding::not_bound), bound.error()};
    const auto measured = clocked_.time(*bound, Effort::final_);
    if (!measured) return {{}, measured.error().finding, measured.error().message};
    fault_point("final_judged");
    return {*measured, "", ""};
  }

  const Project& project_;
  Device& device_;
  CompilePool& pool_;
  Store& store_;
  TruthCache truth_;
  std::vector<GateCase> cases_;
  Clocked clocked_;
};

bool is_preset(const Space& space, const TrialRow& trial) {
  return std::ranges::any_of(space.parts().presets, [&](const Preset& preset) {
    return preset.config.to_json() == trial.config_json;
  });
}

// Right by their screens, fastest first. Those that an earlier session of the run has taken through
// the finals keep the place that their screen gave them, or a resumed run would judge others.
std::vector<TrialRow> screened(const Store& store, std::int64_t run) {
  std::vector<TrialRow> trials;
  std::map<std::int64_t, std::pair<double, int>> rank;  // time and registers, by id
  for (TrialRow& trial : store.trials(run)) {
    if (trial.outcome != "right" && trial.stage != "final") continue;
    for (const TimeRow& time : store.times(trial.id))
      if (time.phase == "screen") rank[trial.id] = {time.us, trial.registers};
    if (rank.contains(trial.id)) trials.push_back(std::move(trial));
  }
  std::ranges::stable_sort(trials, {}, [&](const TrialRow& trial) { return rank.at(trial.id); });
  return trials;
}

}  // namespace

bool run_finals(const Project& project, Device& device, CompilePool& pool, Store& store,
                std::int64_t run, std::uint64_t seed, const std::vector<std::string>& suites,
                EvolveListener& listener, const std::atomic<bool>& stop) {
  const bool predicts = device.info().times == TimeKind::predicted;
  const std::vector<TrialRow> ranked = screened(store, run);

  std::vector<TrialRow> finalists;
  for (const TrialRow& trial : ranked)
    if (static_cast<int>(finalists.size()) < kFinalists ||
        (!predicts && is_preset(project.space, trial)))
      finalists.push_back(trial);

  // Their suites have longer shapes than the one that the incumbent was timed at.
  device.note_incumbent(0);
  Finals finals(project, device, pool, store, seed, suites);
  int done = 0;
  for (TrialRow& trial : finalists) {
    if (stop) return false;
    const bool stands = trial.stage == "final" ? trial.outcome == "right" : finals.judge(trial);
    listener.on_final(trial, ++done, predicts ? 1 : static_cast<int>(finalists.size()));
    if (device.lost()) return false;
    if (stands && predicts) return true;
  }
  return true;
}

}  // namespace fa_tune
