#include "engine/report/held_pick.hpp"

#include <algorithm>
#include <vector>

#include "engine/report/best.hpp"

namespace fa_tune::report {
namespace {

// The trial of another run that has the pick's kernel; null if it was not tried there.
const db::TrialRow* twin_of(const db::TrialRow& pick, const std::vector<db::TrialRow>& trials) {
  const auto found = std::ranges::find(trials, pick.config_json, &db::TrialRow::config_json);
  if (found == trials.end()) return nullptr;
  if (found->duplicate_of == 0) return &*found;
  const auto first = std::ranges::find(trials, found->duplicate_of, &db::TrialRow::id);
  return first == trials.end() ? &*found : &*first;
}

// Whether the pick keeps its place beside what a later run has found.
bool holds(const TrialOfRun& pick, const db::Store& store,
           const std::vector<TrialOfRun>& found_later) {
  const TrialOfRun& fastest = found_later.front();
  const bool predicted = fastest.run.time_kind == "predicted";
  const auto trials = store.trials(fastest.run.id);
  const db::TrialRow* twin = twin_of(pick.trial, trials);
  if (twin == nullptr) return !predicted || shown_us(pick.trial) <= shown_us(fastest.trial);
  const auto there = std::ranges::find(found_later, twin->id,
                                       [](const TrialOfRun& each) { return each.trial.id; });
  if (there == found_later.end()) return false;  // it did not pass, or failed in the finals
  if (predicted) return shown_us(there->trial) <= shown_us(fastest.trial);
  if (there->raced && fastest.raced && there->raced->row.race == fastest.raced->row.race)
    return !(there->raced->row.ratio.low > kAsGood);
  constexpr double kOneClockMhz = 1000;
  const auto own = screen_at_clock(there->trial, kOneClockMhz);
  const auto best = screen_at_clock(fastest.trial, kOneClockMhz);
  return !own || !best || *own <= kScreensTell * *best;
}

}  // namespace

TuningKey key_of(const db::RunRow& run) {
  return {run.problem == "custom" ? "space " + run.space : run.problem, run.shape_json,
          run.device_name};
}

std::optional<TrialOfRun> held_pick(const db::Store& store, const TuningKey& key) {
  auto runs = store.runs();
  std::erase_if(runs, [&](const db::RunRow& run) { return key_of(run) != key; });
  std::ranges::sort(runs, {}, &db::RunRow::id);
  std::optional<TrialOfRun> pick;
  for (const db::RunRow& run : runs) {
    db::TrialFilter all;
    all.run = run.id;
    all.time_kind = run.time_kind;
    all.limit = -1;
    const auto found = best_trials(store, all);
    if (found.empty() || (pick && holds(*pick, store, found))) continue;
    pick = stable_pick(found).front();
  }
  return pick;
}

}  // namespace fa_tune::report
