#include "engine/report/insights.hpp"

#include <optional>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune {
namespace {

struct InsightsArguments {
  std::string db = "fa.db";
  std::optional<std::int64_t> run;
  std::string format = "table";
  int limit = 15;
};

RunRow chosen_run(const Store& store, const InsightsArguments& arguments) {
  if (arguments.run) {
    if (const auto run = store.run(*arguments.run)) return *run;
    throw UserError(fmt::format("--run {}: {} has no such run", *arguments.run, arguments.db));
  }
  const auto runs = store.runs();
  if (runs.empty()) throw UserError(arguments.db + ": has no runs yet; 'fa-tune evolve' makes one");
  return runs.front();
}

int insights(const InsightsArguments& arguments) {
  const Store store(arguments.db, Store::Mode::read);
  const RunRow run = chosen_run(store, arguments);
  const Insights found = insights_of(store, run.id);
  const auto profiles = store.profiles(run.id);
  fmt::print("{}", arguments.format == "json"
                       ? insights_json(run, found, profiles)
                       : insights_text(run, found, profiles, arguments.limit));
  if (found.passed() > 0) return 0;
  log_warning("run {}: no trial passed, so there are no times to compare", run.id);
  return 1;
}

}  // namespace

void add_insights(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "insights", "tell what a run taught: which values, pairs and operators help, how surely");
  auto arguments = std::make_shared<InsightsArguments>();
  command->add_option("--db", arguments->db, "the database")->capture_default_str();
  command->add_option("--run", arguments->run, "its number; the newest if not given");
  command->add_option("--format", arguments->format, "table or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"table", "json"}));
  command->add_option("-n,--limit", arguments->limit, "lines of a kind in a table")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->callback(
      [arguments, &action] { action = [arguments] { return insights(*arguments); }; });
}

}  // namespace fa_tune
