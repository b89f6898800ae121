#include "engine/tuner/finals/finalists.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/measure/timing.hpp"
#include "engine/report/held_pick.hpp"
#include "engine/report/rows.hpp"
#include "engine/tuner/loop/warm_start.hpp"

namespace fa_tune::tuner {
namespace {

// How many of the best are measured again: enough that the truly fastest is among them although
// screens differ by a few percent, few enough to take seconds.
constexpr std::size_t kFinalists = 12;
// A trial that is slower for certain by its screen stays away, but for the first few.
constexpr std::size_t kAtLeast = 4;

bool is_preset(const space::Space& space, const db::TrialRow& trial) {
  return std::ranges::any_of(space.presets(), [&](const space::Preset& preset) {
    return preset.config.to_json() == trial.config_json;
  });
}

struct Screened {
  db::TrialRow trial;
  double us = 0;  // at the target's clock, see us_at_clock()
};

// Those that passed, by their screens, fastest first.
std::vector<Screened> screened(const db::Store& store, std::int64_t run, double clock_mhz) {
  std::vector<Screened> trials;
  for (db::TrialRow& trial : store.trials(run)) {
    if (trial.outcome != Outcome::passed && trial.stage != "final") continue;
    const auto us = report::screen_at_clock(trial, clock_mhz);
    if (us) trials.push_back({std::move(trial), *us});
  }
  std::ranges::stable_sort(
      trials, {}, [](const Screened& each) { return std::pair(each.us, each.trial.registers); });
  return trials;
}

}  // namespace

std::vector<db::TrialRow> choose_finalists(const TuningTask& task, const db::Store& store,
                                           std::int64_t run) {
  const db::RunRow row = store.run(run).value();
  const bool measured = row.time_kind == "measured";
  const auto pick = earlier_pick(store, row);
  const auto always = [&](const db::TrialRow& trial) {
    return is_preset(task.space, trial) || (pick && pick->to_json() == trial.config_json);
  };
  std::vector<Screened> trials = screened(store, run, task.target.clock_mhz);
  std::vector<db::TrialRow> finalists;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool close = trials[i].us <= report::kScreensTell * trials.front().us;
    if (i < kAtLeast || (i < kFinalists && close) || (measured && always(trials[i].trial)))
      finalists.push_back(std::move(trials[i].trial));
  }
  return finalists;
}

}  // namespace fa_tune::tuner
