#include <chrono>
#include <optional>

#include <fmt/core.h>

#include "engine/report/run_overview.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct StatusArguments {
  std::string db = "fa.db";
  std::optional<std::int64_t> run;
  std::string format = "text";
};

int status(const StatusArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  const db::RunRow run = require_run(store, arguments.db, arguments.run);
  const auto overview = report::run_overview(store, run, std::chrono::system_clock::now());
  fmt::print("{}", arguments.format == "json" ? report::overview_json(overview)
                                              : report::overview_text(overview, arguments.db));
  return 0;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("status",
                                     "tell how a run stands, also while it runs: trials, best so "
                                     "far, time left, what it waits for, "
                                     "and what each device does");
  auto arguments = std::make_shared<StatusArguments>();
  add_db_option(*command, arguments->db);
  command->add_option("--run", arguments->run, "its number; the newest if not given");
  add_format_option(*command, arguments->format, {"text", "json"});
  act(*command, action, arguments, status);
}

}  // namespace fa_tune::commands
