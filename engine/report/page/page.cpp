#include "engine/report/page/page.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/report/cost.hpp"
#include "engine/report/insights.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::report {

const db::TrialRow* RunFacts::trial(std::int64_t id) const {
  // Ids rise with numbers within a run.
  const auto found = std::ranges::lower_bound(trials, id, {}, &db::TrialRow::id);
  return found != trials.end() && found->id == id ? &*found : nullptr;
}

const db::TrialRow* RunFacts::trial_of(const std::string& config_json) const {
  const auto found = std::ranges::find(trials, config_json, &db::TrialRow::config_json);
  return found == trials.end() ? nullptr : &*found;
}

std::string RunFacts::time_words(double us) const {
  return fmt::format("{} us {}", time_text(us), run.time_kind);
}

RunFacts gather_facts(const db::Store& store, std::int64_t run, PageExtras extras) {
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
  facts.plain = store.plain_kernel(run);
  facts.extras = std::move(extras);
  for (const db::TrialRow& trial : facts.trials)
    if (trial.screen_time) facts.screens[trial.id] = trial.screen_time->us.value;
  db::TrialFilter filter;
  filter.run = run;
  filter.time_kind = row->time_kind;
  filter.limit = 8;
  facts.best = store.best(filter);
  if (facts.best.empty()) return facts;
  facts.winner = facts.best.front();
  facts.line = main_line(store, facts.winner->id);
  for (const db::TrialRow& trial : facts.trials)
    if (const auto us = screen_beside(trial, *facts.winner)) facts.screens[trial.id] = *us;
  std::vector<std::int64_t> to_ask = {facts.winner->id};
  while (!to_ask.empty()) {
    const std::int64_t id = to_ask.back();
    to_ask.pop_back();
    if (facts.parents.contains(id)) continue;
    facts.parents[id] = store.parents(id);
    for (const db::ParentRow& parent : facts.parents[id]) to_ask.push_back(parent.parent);
  }
  return facts;
}

std::optional<std::pair<double, double>> comparable_times(const RunFacts& facts,
                                                          const db::TrialRow& one,
                                                          const db::TrialRow& other) {
  if (one.outcome != Outcome::passed || other.outcome != Outcome::passed) return std::nullopt;
  if (one.final_time && other.final_time)
    return std::pair(one.final_time->us.value, other.final_time->us.value);
  const auto mine = facts.screens.find(one.id);
  const auto theirs = facts.screens.find(other.id);
  if (mine == facts.screens.end() || theirs == facts.screens.end()) return std::nullopt;
  return std::pair(mine->second, theirs->second);
}

std::string run_page(const db::Store& store, std::int64_t run, PageExtras extras) {
  const RunFacts facts = gather_facts(store, run, std::move(extras));
  const std::string title = fmt::format("Run {} of {}", facts.run.id, facts.run.space);
  const std::string kind =
      facts.measured()
          ? "All times are measured on that device."
          : "All times are predictions of the emulator's model; nothing here was measured.";
  const std::string state =
      facts.run.state == "done"
          ? fmt::format("Began {}, ended {}.", facts.run.started_at, facts.run.finished_at)
          : fmt::format("Began {}; {}.", facts.run.started_at, store.standing(facts.run));
  const std::string sections = result_section(facts) + funnel_section(facts) +
                               progress_section(facts) + lineage_section(facts) +
                               effects_section(facts, insights_of(store, run)) +
                               ablation_section(facts) + roofline_section(facts) +
                               bottleneck_section(facts) + environment_section(facts);
  return fmt::format(
      fmt::runtime(page_frame_part()), fmt::arg("title", escaped(title)),
      fmt::arg("style", page_style_part()), fmt::arg("context", escaped(context_text(facts.run))),
      fmt::arg("kind", facts.measured() ? "kind" : "kind predicted"),
      fmt::arg("about", escaped(kind + " " + state)), fmt::arg("sections", sections));
}

}  // namespace fa_tune::report
