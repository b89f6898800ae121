#include "engine/community/replay/replay.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/community/replay/summary.hpp"
#include "engine/community/replay/trace.hpp"
#include "engine/report/json.hpp"
#include "engine/report/table.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/yaml/yaml.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

struct ReplayArguments {
  std::vector<std::string> tables;
  std::string strategy;
  std::vector<std::string> traces;
  std::vector<std::string> earlier;
  std::size_t earlier_evaluations = 120;
  std::string curve;
  std::string format = "table";
  std::size_t seeds = 100;
  std::optional<std::size_t> budget;
  int batch = 1;
  std::size_t ahead = 0;
  std::optional<std::size_t> under_way;
  int jobs = default_jobs();
};

// The runs of one tuner on one table.
struct Replayed {
  community::ReplaySummary summary;
  std::vector<community::Trace> runs;
};

constexpr std::size_t kCurvePoints = 200;

community::RecordedTable open(const std::string& path) {
  community::RecordedTable table = community::read_table(path);
  if (table.cut)
    log_warning("{}: ends early; the {} configs that are whole are used", path,
                table.entries.size());
  if (!table.has_costs)
    log_warning("{}: records no compile or benchmark times; every config costs the same", path);
  return table;
}

// A table to learn from first, with the space that its searches run in.
struct Opened {
  community::RecordedTable table;
  space::Space space;
};

std::vector<community::Trace> run(const community::RecordedTable& table,
                                  const community::Scorer& scorer,
                                  const std::vector<Opened>& earlier,
                                  const ReplayArguments& arguments) {
  const space::Space space = table.space();
  community::ReplayOptions options;
  options.strategy = arguments.strategy;
  options.seeds = arguments.seeds;
  options.batch = arguments.batch;
  options.ahead = arguments.ahead;
  options.jobs = arguments.jobs;
  options.enough_ms = scorer.optimum_ms();
  for (const Opened& before : earlier)
    options.earlier.push_back({&before.table, &before.space, arguments.earlier_evaluations});
  const std::size_t budget = arguments.budget.value_or(scorer.budget_evaluations());
  options.budget = {scorer.budget_ms(budget), std::max(budget, community::kFixedBudgets.back())};
  return community::replay(table, space, options);
}

std::string curve_rows(const community::Scorer& scorer, const Replayed& replayed) {
  std::string text;
  for (const community::CurvePoint& point :
       community::best_so_far(scorer, replayed.runs, replayed.summary.budget_ms, kCurvePoints))
    text += fmt::format("{},{},{:.3f},{:.6g},{:.6g},{:.4f},{:.6f},{:.6g},{:.6g},{:.6g}\n",
                        replayed.summary.tuner, replayed.summary.table, point.at_ms / 1000,
                        scorer.optimum_ms(), point.baseline_ms, point.found, point.score,
                        point.best_ms, point.low_ms, point.high_ms);
  return text;
}

// Of one tuner, in the order of the tables.
struct Tuner {
  std::string name;
  std::vector<community::ReplaySummary> tables;
};

std::vector<Tuner> by_tuner(const std::vector<community::ReplaySummary>& summaries) {
  std::vector<Tuner> tuners;
  for (const community::ReplaySummary& summary : summaries) {
    auto found = std::ranges::find(tuners, summary.tuner, &Tuner::name);
    if (found == tuners.end()) found = tuners.insert(found, {summary.tuner, {}});
    found->tables.push_back(summary);
  }
  return tuners;
}

std::vector<double> pooled(const Tuner& tuner, std::size_t nearness) {
  std::vector<double> all;
  for (const community::ReplaySummary& summary : tuner.tables)
    all.insert(all.end(), summary.evaluations_to[nearness].begin(),
               summary.evaluations_to[nearness].end());
  return all;
}

std::string evaluations_text(const std::optional<double>& evaluations) {
  return evaluations ? fmt::format("{:.0f}", *evaluations) : "-";
}

std::string evaluations_cell(const community::EvaluationsTo& to) {
  return fmt::format("{} ({}..{})", evaluations_text(to.median), evaluations_text(to.low),
                     evaluations_text(to.high));
}

std::string score_cell(const Interval& score) {
  return fmt::format("{:.3f} ({:.3f}..{:.3f})", score.value, score.low, score.high);
}

Json mean_json(const Interval& estimate) {
  return {{"mean", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

void add_evaluations(Json& json, const std::vector<std::vector<double>>& samples) {
  Json medians = Json::object();
  Json intervals = Json::object();
  for (std::size_t i = 0; i < community::kNearnessPercent.size(); ++i) {
    const community::EvaluationsTo to = community::median_evaluations(samples[i]);
    const std::string name = std::to_string(community::kNearnessPercent[i]);
    medians[name] = to.median;
    intervals[name] = {
        {"low", to.low}, {"high", to.high}, {"reached", to.reached}, {"runs", samples[i].size()}};
  }
  json["evaluations_to"] = std::move(medians);
  json["evaluations_to_interval"] = std::move(intervals);
}

Json summary_json(const community::ReplaySummary& summary) {
  Json json = {
      {"table", summary.table},
      {"runs", summary.runs},
      {"optimum_ms", summary.optimum_ms},
      {"budget",
       {{"evaluations", summary.budget_evaluations}, {"seconds", summary.budget_ms / 1000}}},
      {"score", mean_json(summary.score)}};
  add_evaluations(json, {summary.evaluations_to.begin(), summary.evaluations_to.end()});
  Json after = Json::object();
  for (std::size_t i = 0; i < community::kFixedBudgets.size(); ++i)
    after[std::to_string(community::kFixedBudgets[i])] = mean_json(summary.after[i]);
  json["optimum_over_best_after"] = std::move(after);
  Json within = Json::object();
  for (std::size_t i = 0; i < community::kNearnessPercent.size(); ++i)
    for (std::size_t j = 0; j < community::kFixedBudgets.size(); ++j)
      within[std::to_string(community::kNearnessPercent[i])]
            [std::to_string(community::kFixedBudgets[j])] = summary.within[i][j];
  json["share_within_after"] = std::move(within);
  return json;
}

Json tuner_json(const Tuner& tuner) {
  Json json = {{"tuner", tuner.name}, {"score", mean_json(community::mean_score(tuner.tables))}};
  std::vector<std::vector<double>> samples;
  for (std::size_t i = 0; i < community::kNearnessPercent.size(); ++i)
    samples.push_back(pooled(tuner, i));
  add_evaluations(json, samples);
  json["tables"] = Json::array();
  for (const community::ReplaySummary& summary : tuner.tables)
    json["tables"].push_back(summary_json(summary));
  return json;
}

// Which of the shares the table shows; the JSON has all of them.
constexpr std::size_t kShownNearness = 1;
constexpr std::size_t kShownBudget = community::kFixedBudgets.size() - 1;

double least_share(const Tuner& tuner) {
  double least = 1;
  for (const community::ReplaySummary& summary : tuner.tables)
    least = std::min(least, summary.within[kShownNearness][kShownBudget]);
  return least;
}

std::vector<std::string> cells(const std::string& tuner, const std::string& table,
                               const Interval& score, const Tuner& rows) {
  std::vector<std::string> result = {tuner, table, score_cell(score)};
  for (std::size_t i = 0; i < community::kNearnessPercent.size(); ++i)
    result.push_back(evaluations_cell(community::median_evaluations(pooled(rows, i))));
  for (std::size_t i = 0; i < community::kFixedBudgets.size(); ++i) {
    double mean = 0;
    for (const community::ReplaySummary& summary : rows.tables)
      mean += summary.after[i].value / static_cast<double>(rows.tables.size());
    result.push_back(fmt::format("{:.1f}%", 100 * mean));
  }
  result.push_back(fmt::format("{:.1f}%", 100 * least_share(rows)));
  return result;
}

// A row for each tuner and table, and for each tuner on several tables its mean.
std::string replay_table(const std::vector<community::ReplaySummary>& summaries) {
  std::vector<report::TableColumn> columns = {
      {"tuner"}, {"table"}, {"score", report::Align::right}};
  for (const int percent : community::kNearnessPercent)
    columns.push_back({fmt::format("to {}%", percent), report::Align::right});
  for (const std::size_t evaluations : community::kFixedBudgets)
    columns.push_back({fmt::format("after {}", evaluations), report::Align::right});
  columns.push_back({fmt::format("{}% by {}", community::kNearnessPercent[kShownNearness],
                                 community::kFixedBudgets[kShownBudget]),
                     report::Align::right});
  report::Table table(std::move(columns));
  for (const Tuner& tuner : by_tuner(summaries)) {
    for (const community::ReplaySummary& summary : tuner.tables)
      table.add(cells(tuner.name, summary.table, summary.score, {tuner.name, {summary}}));
    if (tuner.tables.size() > 1)
      table.add(cells(tuner.name, "all", community::mean_score(tuner.tables), tuner));
  }
  std::string text = table.text(220);
  std::vector<std::string> told;
  for (const community::ReplaySummary& summary : summaries) {
    if (std::ranges::find(told, summary.table) != told.end()) continue;
    told.push_back(summary.table);
    text += fmt::format("{}: optimum {:.6g} ms, budget {} evaluations or {:.1f} s\n", summary.table,
                        summary.optimum_ms, summary.budget_evaluations, summary.budget_ms / 1000);
  }
  return text +
         "to x%: median evaluations until within x% of the optimum (95% interval; - where half of\n"
         "the runs or more did not come there). after n: the optimum over the best after n\n"
         "evaluations, mean of the runs. x% by n: runs within x% of it by then, of all tables the\n"
         "least.\n";
}

// The first tuner's `score` and `evaluations_to` stand at the top as well.
std::string replay_json(const std::vector<community::ReplaySummary>& summaries) {
  Json tuners = Json::array();
  for (const Tuner& tuner : by_tuner(summaries)) tuners.push_back(tuner_json(tuner));
  Json json = Json::object();
  for (const char* name : {"score", "evaluations_to", "evaluations_to_interval"})
    json[name] = tuners.at(0).at(name);
  json["tuners"] = std::move(tuners);
  return json.dump(2) + "\n";
}

int replay_command(const ReplayArguments& given) {
  ReplayArguments arguments = given;
  if (arguments.under_way) {
    arguments.batch = 1;
    arguments.ahead = *arguments.under_way - 1;
  }
  if (arguments.strategy.empty() && arguments.traces.empty())
    throw UserError("nothing to score: give --strategy or --trace");
  std::vector<community::TunerTraces> foreign;
  for (const std::string& path : arguments.traces)
    for (community::TunerTraces& traces : community::read_traces(path))
      foreign.push_back(std::move(traces));

  std::vector<community::ReplaySummary> summaries;
  std::string curve =
      "tuner,table,at_s,optimum_ms,random_ms,found,score,best_ms,best_p10_ms,best_p90_ms\n";
  const auto add = [&](const community::Scorer& scorer, const std::string& tuner,
                       const std::string& table, std::vector<community::Trace> runs) {
    Replayed replayed{summarize(scorer, runs, arguments.budget), std::move(runs)};
    replayed.summary.tuner = tuner;
    replayed.summary.table = table;
    if (!arguments.curve.empty()) curve += curve_rows(scorer, replayed);
    summaries.push_back(std::move(replayed.summary));
  };
  std::vector<Opened> earlier;
  for (const std::string& path : arguments.earlier) {
    community::RecordedTable table = open(path);
    space::Space space = table.space();
    earlier.push_back({std::move(table), std::move(space)});
  }
  std::vector<std::string> names;
  for (const std::string& path : arguments.tables) {
    const community::RecordedTable table = open(path);
    const community::Scorer scorer(table);
    names.push_back(table.name);
    if (!arguments.strategy.empty())
      add(scorer, arguments.strategy, table.name, run(table, scorer, earlier, arguments));
    for (community::TunerTraces& traces : foreign)
      if (traces.table == table.name) add(scorer, traces.tuner, table.name, std::move(traces.runs));
  }
  for (const community::TunerTraces& traces : foreign)
    if (std::ranges::find(names, traces.table) == names.end())
      throw UserError(fmt::format("traces of {} are on the table {}, which is not given{}",
                                  quote_text(traces.tuner), quote_text(traces.table),
                                  did_you_mean(traces.table, names)));
  fmt::print("{}", arguments.format == "json" ? replay_json(summaries) : replay_table(summaries));
  if (!arguments.curve.empty()) write_file(arguments.curve, curve);
  return 0;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("replay", "run a strategy against recorded tables, without a GPU");
  auto arguments = std::make_shared<ReplayArguments>();
  command
      ->add_option("tables", arguments->tables,
                   "Kernel Tuner cachefiles or T4 files, plain or gzip, whole or cut short")
      ->type_name("FILE")
      ->required();
  command->add_option("--strategy", arguments->strategy, "name, or name:option=value,...");
  command->add_option("--trace", arguments->traces, "also score recorded runs (CSV) on the tables")
      ->type_name("FILE");
  command->add_option("--seeds", arguments->seeds, "runs a table")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command
      ->add_option("--budget", arguments->budget,
                   "evaluations; the community's definition if not given")
      ->check(CLI::Range(1, 10'000'000));
  auto* batch = command->add_option("--batch", arguments->batch, "configs asked for at a time")
                    ->capture_default_str()
                    ->check(CLI::Range(1, 10'000));
  auto* ahead =
      command->add_option("--ahead", arguments->ahead, "batches asked for before the last is told")
          ->capture_default_str()
          ->check(CLI::Range(0, 1'000));
  command
      ->add_option("--under-way", arguments->under_way,
                   "trials under way at any time, each one told makes the next one asked for: "
                   "--batch 1 and one less --ahead")
      ->check(CLI::Range(1, 1'001))
      ->excludes(batch)
      ->excludes(ahead);
  command
      ->add_option("--earlier", arguments->earlier,
                   "tables on which each run first searches, to learn from it (evolve does)")
      ->type_name("FILE");
  command
      ->add_option("--earlier-evaluations", arguments->earlier_evaluations,
                   "how long it searches there")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--jobs", arguments->jobs, "threads")->check(CLI::Range(1, 1024));
  command->add_option("--curve", arguments->curve, "file for the best so far over time, as CSV")
      ->type_name("FILE");
  add_format_option(*command, arguments->format, {"table", "json"});
  act(*command, action, arguments, replay_command);
}

}  // namespace fa_tune::commands
