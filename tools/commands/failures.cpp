#include "engine/report/failures.hpp"

#include <optional>

#include <fmt/core.h>

#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct FailuresArguments {
  std::string db = "fa.db";
  std::optional<std::int64_t> run;
  std::string format = "table";
};

int failures(const FailuresArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  const db::RunRow run = require_run(store, arguments.db, arguments.run);
  const auto all = store.trials(run.id);
  const auto groups = report::failure_groups(all);
  const std::size_t trials = all.size();
  fmt::print("{}", arguments.format == "json"
                       ? report::failures_json(run, trials, groups)
                       : report::failures_text(run, trials, groups, arguments.db));
  return 0;
}

}  // namespace

void add_failures(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("failures", "tell why trials of a run failed, and how many");
  auto arguments = std::make_shared<FailuresArguments>();
  add_db_option(*command, arguments->db);
  command->add_option("--run", arguments->run, "its number; the newest if not given");
  add_format_option(*command, arguments->format, {"table", "json"});
  act(*command, action, arguments, failures);
}

}  // namespace fa_tune::commands
