#include "engine/tuner/loop/warm_start.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/held_pick.hpp"
#include "engine/report/rows.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {
namespace {

// With fewer, a model of a run says nothing. Of the pick's run the pick alone is reason enough.
constexpr std::size_t kFewestTrials = 8;
// Each costs every prediction as much again.
constexpr std::size_t kMostRuns = 3;

constexpr double kMostTimesTheWork = 32;

// How many times the operations of one problem are those of the other; 1 where nobody knows.
double times_the_work(const TuningTask& task, const db::RunRow& run) {
  const problem::Problem& problem = *task.problem;
  const auto settings = Config::from_json(run.shape_json).settings();
  const Constants shape(settings.begin(), settings.end());
  const bool alike = std::ranges::equal(std::views::keys(shape), std::views::keys(problem.shape()));
  const double here = problem.flop(problem.shape());
  const double there = alike ? problem.flop(shape) : 0;
  return here > 0 && there > 0 ? std::max(here / there, there / here) : 1;
}

search::PriorTrials load(const db::Store& store, const TuningTask& task, const PriorRun& choice) {
  search::PriorTrials earlier{choice.title, {}, {}};
  for (const db::TrialRow& row : store.trials(choice.run)) {
    if (row.number > choice.trials) break;
    // As it was when the search began: it may have failed in finals that were held later.
    if (row.outcome != Outcome::passed && row.stage != "final") continue;
    Config config = Config::from_json(row.config_json);
    if (task.space.why_invalid(config)) continue;
    if (row.number == choice.pick) earlier.pick = config;
    if (const auto us = report::screen_at_clock(row, task.target.clock_mhz))
      earlier.trials.push_back(
          {static_cast<std::uint64_t>(row.number), std::move(config), true, us, 0});
  }
  return earlier;
}

report::TuningKey key_of(const TuningTask& task, const std::string& device_name) {
  db::RunRow run;
  run.space = task.file.name;
  run.problem = task.problem->kind();
  run.shape_json = fa_tune::to_json(task.problem->shape());
  run.device_name = device_name;
  return report::key_of(run);
}

PriorRun choice_of(const db::Store& store, const db::RunRow& run) {
  const auto trials = store.trials(run.id);
  return {run.id, trials.empty() ? 0 : trials.back().number,
          fmt::format("run {}: {}, {}", run.id, run.device_name, run.shape_json), 0};
}

}  // namespace

std::vector<PriorRun> choose_prior_runs(const db::Store& store, const TuningTask& task,
                                        const std::string& device_name) {
  std::vector<db::RunRow> runs = store.runs();
  std::erase_if(runs, [&](const db::RunRow& run) {
    return run.problem != task.problem->kind() || times_the_work(task, run) > kMostTimesTheWork;
  });
  const auto pick = report::held_pick(store, key_of(task, device_name));
  std::ranges::stable_sort(runs, {}, [&](const db::RunRow& run) {
    return std::tuple(!pick || run.id != pick->run.id, run.device_name != device_name,
                      times_the_work(task, run));
  });
  std::vector<PriorRun> choices;
  for (const db::RunRow& run : runs) {
    if (choices.size() == kMostRuns) break;
    PriorRun choice = choice_of(store, run);
    if (pick && pick->run.id == run.id) choice.pick = pick->trial.number;
    const search::PriorTrials earlier = load(store, task, choice);
    if (earlier.pick || earlier.trials.size() >= kFewestTrials)
      choices.push_back(std::move(choice));
  }
  return choices;
}

PriorRun choose_prior_runs(const db::Store& store, const TuningTask& task, std::int64_t run) {
  const auto row = store.run(run);
  if (!row) throw UserError(fmt::format("there is no run {} to learn from in this database", run));
  PriorRun choice = choice_of(store, *row);
  if (load(store, task, choice).trials.size() < kFewestTrials)
    throw UserError(fmt::format(
        "run {} teaches nothing here: fewer than {} of its trials that passed are valid "
        "configs of this space",
        run, kFewestTrials));
  return choice;
}

std::vector<search::PriorTrials> load_prior_runs(const db::Store& store, const TuningTask& task,
                                                 const std::vector<PriorRun>& choices) {
  std::vector<search::PriorTrials> runs;
  for (const PriorRun& choice : choices) runs.push_back(load(store, task, choice));
  return runs;
}

std::string to_json(const std::vector<PriorRun>& choices) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PriorRun& choice : choices) {
    json.push_back({{"run", choice.run}, {"trials", choice.trials}});
    if (choice.pick != 0) json.back()["pick"] = choice.pick;
  }
  return json.dump();
}

std::vector<PriorRun> prior_runs_of(const db::RunRow& run) {
  std::vector<PriorRun> choices;
  const auto options = nlohmann::json::parse(run.options_json);
  for (const auto& one : options.value("earlier", nlohmann::json::array()))
    choices.push_back({one.at("run").get<std::int64_t>(), one.at("trials").get<std::int64_t>(),
                       fmt::format("run {}", one.at("run").get<std::int64_t>()),
                       one.value("pick", std::int64_t{0})});
  return choices;
}

std::optional<Config> earlier_pick(const db::Store& store, const db::RunRow& run) {
  for (const PriorRun& choice : prior_runs_of(run)) {
    if (choice.pick == 0) continue;
    if (const auto row = store.trial(choice.run, choice.pick))
      return Config::from_json(row->config_json);
  }
  return std::nullopt;
}

}  // namespace fa_tune::tuner
