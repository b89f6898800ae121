#include "engine/run/finalists.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace fa_tune {
namespace {

// How many of the best are measured again: enough that the truly fastest is among them although
// screens differ by a few percent, few enough to take seconds.
constexpr int kFinalists = 12;

bool is_preset(const Space& space, const TrialRow& trial) {
  return std::ranges::any_of(space.presets(), [&](const Preset& preset) {
    return preset.config.to_json() == trial.config_json;
  });
}

// Right by their screens, fastest first.
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

std::vector<TrialRow> choose_finalists(const Project& project, const Store& store,
                                       std::int64_t run) {
  const bool measured = store.run(run).value().time_kind == "measured";
  std::vector<TrialRow> finalists;
  for (TrialRow& trial : screened(store, run))
    if (static_cast<int>(finalists.size()) < kFinalists ||
        (measured && is_preset(project.space, trial)))
      finalists.push_back(std::move(trial));
  return finalists;
}

}  // namespace fa_tune
