#include "engine/report/insights.hpp"

#include <optional>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct InsightsArguments {
  std::string db = "fa.db";
  std::optional<std::int64_t> run;
  std::string format = "table";
  int limit = 15;
};

int insights(const InsightsArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  const db::RunRow run = require_run(store, arguments.db, arguments.run);
  const search::Insights found = report::insights_of(store, run.id);
  const auto profiles = store.profiles(run.id);
  fmt::print("{}", arguments.format == "json"
                       ? report::insights_json(run, found, profiles)
                       : report::insights_text(run, found, profiles, arguments.limit));
  if (found.passed() > 0) return 0;
  log_warning("run {}: no trial passed, so there are no times to compare", run.id);
  return 1;
}

}  // namespace

void add_insights(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "insights", "tell what a run taught: which values, pairs and operators help, how surely");
  auto arguments = std::make_shared<InsightsArguments>();
  add_db_option(*command, arguments->db, "the database");
  command->add_option("--run", arguments->run, "its number; the newest if not given");
  add_format_option(*command, arguments->format, {"table", "json"});
  command->add_option("-n,--limit", arguments->limit, "lines of a kind in a table")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  act(*command, action, arguments, insights);
}

}  // namespace fa_tune::commands
