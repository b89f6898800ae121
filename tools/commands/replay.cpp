#include "engine/community/replay/replay.hpp"

#include <fstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/community/replay/summary.hpp"
#include "engine/community/replay/trace.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/yaml/yaml.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/options.hpp"
#include "tools/commands/replay_text.hpp"

namespace fa_tune {
namespace {

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
  int jobs = default_jobs();
};

// The runs of one tuner on one table.
struct Replayed {
  ReplaySummary summary;
  std::vector<Trace> runs;
};

constexpr std::size_t curve_points = 200;

RecordedTable open(const std::string& path) {
  RecordedTable table = read_table(path);
  if (table.cut)
    log_warning("{}: ends early; the {} configs that are whole are used", path,
                table.entries.size());
  if (!table.has_costs)
    log_warning("{}: records no compile or benchmark times; every config costs the same", path);
  return table;
}

// A table to learn from first, with the space that its searches run in.
struct Opened {
  RecordedTable table;
  Space space;
};

std::vector<Trace> run(const RecordedTable& table, const Scorer& scorer,
                       const std::vector<Opened>& earlier, const ReplayArguments& arguments) {
  const Space space = table.space();
  ReplayOptions options;
  options.strategy = arguments.strategy;
  options.seeds = arguments.seeds;
  options.batch = arguments.batch;
  options.ahead = arguments.ahead;
  options.jobs = arguments.jobs;
  for (const Opened& before : earlier)
    options.earlier.push_back({&before.table, &before.space, arguments.earlier_evaluations});
  const std::size_t budget = arguments.budget.value_or(scorer.budget_evaluations());
  options.budget = {scorer.budget_ms(budget), std::max(budget, fixed_budgets.back())};
  return replay(table, space, options);
}

std::string curve_rows(const Scorer& scorer, const Replayed& replayed) {
  std::string text;
  for (const CurvePoint& point :
       best_so_far(scorer, replayed.runs, replayed.summary.budget_ms, curve_points))
    text += fmt::format("{},{},{:.3f},{:.6g},{:.6g},{:.4f},{:.6f},{:.6g},{:.6g},{:.6g}\n",
                        replayed.summary.tuner, replayed.summary.table, point.at_ms / 1000,
                        scorer.optimum_ms(), point.baseline_ms, point.found, point.score,
                        point.best_ms, point.low_ms, point.high_ms);
  return text;
}

int replay_command(const ReplayArguments& arguments) {
  if (arguments.strategy.empty() && arguments.traces.empty())
    throw UserError("nothing to score: give --strategy or --trace");
  std::vector<TunerTraces> foreign;
  for (const std::string& path : arguments.traces)
    for (TunerTraces& traces : read_traces(path)) foreign.push_back(std::move(traces));

  std::vector<ReplaySummary> summaries;
  std::string curve =
      "tuner,table,at_s,optimum_ms,random_ms,found,score,best_ms,best_p10_ms,best_p90_ms\n";
  const auto add = [&](const Scorer& scorer, const std::string& tuner, const std::string& table,
                       std::vector<Trace> runs) {
    Replayed replayed{summarize(scorer, runs, arguments.budget), std::move(runs)};
    replayed.summary.tuner = tuner;
    replayed.summary.table = table;
    if (!arguments.curve.empty()) curve += curve_rows(scorer, replayed);
    summaries.push_back(std::move(replayed.summary));
  };
  std::vector<Opened> earlier;
  for (const std::string& path : arguments.earlier) {
    RecordedTable table = open(path);
    Space space = table.space();
    earlier.push_back({std::move(table), std::move(space)});
  }
  std::vector<std::string> names;
  for (const std::string& path : arguments.tables) {
    const RecordedTable table = open(path);
    const Scorer scorer(table);
    names.push_back(table.name);
    if (!arguments.strategy.empty())
      add(scorer, arguments.strategy, table.name, run(table, scorer, earlier, arguments));
    for (TunerTraces& traces : foreign)
      if (traces.table == table.name) add(scorer, traces.tuner, table.name, std::move(traces.runs));
  }
  for (const TunerTraces& traces : foreign)
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
      ->required();
  command->add_option("--strategy", arguments->strategy, "name, or name:option=value,...");
  command->add_option("--trace", arguments->traces, "also score recorded runs (CSV) on the tables");
  command->add_option("--seeds", arguments->seeds, "runs a table")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  command
      ->add_option("--budget", arguments->budget,
                   "evaluations; the community's definition if not given")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--batch", arguments->batch, "configs asked for at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command->add_option("--ahead", arguments->ahead, "batches asked for before the last is told")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000));
  command->add_option("--earlier", arguments->earlier,
                      "tables on which each run first searches, to learn from it (evolve does)");
  command
      ->add_option("--earlier-evaluations", arguments->earlier_evaluations,
                   "how long it searches there")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--jobs", arguments->jobs, "threads")->check(CLI::Range(1, 1024));
  command->add_option("--curve", arguments->curve, "file for the best so far over time, as CSV");
  command->add_option("--format", arguments->format, "table or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"table", "json"}));
  command->callback(
      [arguments, &action] { action = [arguments] { return replay_command(*arguments); }; });
}

}  // namespace fa_tune
