#include "engine/report/page/page_data.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/report/cost.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {

const TrialRow* RunFacts::trial(std::int64_t id) const {
  // Ids rise with numbers within a run.
  const auto found = std::ranges::lower_bound(trials, id, {}, &TrialRow::id);
  return found != trials.end() && found->id == id ? &*found : nullptr;
}

const TrialRow* RunFacts::trial_of(const std::string& config_json) const {
  const auto found = std::ranges::find(trials, config_json, &TrialRow::config_json);
  return found == trials.end() ? nullptr : &*found;
}

std::string RunFacts::time_words(double us) const {
  return fmt::format("{} us {}", time_text(us), run.time_kind);
}

RunFacts gather_facts(const Store& store, std::int64_t run, PageExtras extras) {
  RunFacts facts;
  const auto row = store.run(run);
  if (!row)
    throw UserError(
        fmt::format("there is no run {}; 'fa-tune best' lists trials with theirs", run));
  facts.run = *row;
  facts.trials = store.trials(run);
  facts.raced = raced_finals(store, run);
  facts.sessions = store.sessions(run);
  facts.profiles = store.profiles(run);
  facts.gained = percent_gained(store, run);
  facts.extras = std::move(extras);
  for (const TrialRow& trial : facts.trials)
    if (trial.screen_time) facts.screens[trial.id] = trial.screen_time->us.value;
  TrialFilter filter;
  filter.run = run;
  filter.time_kind = row->time_kind;
  filter.limit = 8;
  facts.best = store.best(filter);
  if (facts.best.empty()) return facts;
  facts.winner = facts.best.front();
  facts.line = main_line(store, facts.winner->id);
  for (const TrialRow& trial : facts.trials)
    if (const auto us = screen_beside(trial, *facts.winner)) facts.screens[trial.id] = *us;
  std::vector<std::int64_t> to_ask = {facts.winner->id};
  while (!to_ask.empty()) {
    const std::int64_t id = to_ask.back();
    to_ask.pop_back();
    if (facts.parents.contains(id)) continue;
    facts.parents[id] = store.parents(id);
    for (const ParentRow& parent : facts.parents[id]) to_ask.push_back(parent.parent);
  }
  return facts;
}

std::optional<std::pair<double, double>> comparable_times(const RunFacts& facts,
                                                          const TrialRow& one,
                                                          const TrialRow& other) {
  if (one.outcome != Outcome::passed || other.outcome != Outcome::passed) return std::nullopt;
  if (one.final_time && other.final_time)
    return std::pair(one.final_time->us.value, other.final_time->us.value);
  const auto mine = facts.screens.find(one.id);
  const auto theirs = facts.screens.find(other.id);
  if (mine == facts.screens.end() || theirs == facts.screens.end()) return std::nullopt;
  return std::pair(mine->second, theirs->second);
}

}  // namespace fa_tune
