#include "engine/report/show.hpp"

#include <fmt/core.h>

#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct TrialArguments {
  std::int64_t trial = 0;
  std::string db = "fa.db";
  std::optional<double> price;
};

CLI::App* add_trial_command(CLI::App& app, Action& action, const char* name, const char* help,
                            const std::shared_ptr<TrialArguments>& arguments,
                            int (*run)(const TrialArguments&)) {
  auto* command = app.add_subcommand(name, help);
  add_trial_option(*command, arguments->trial);
  add_db_option(*command, arguments->db);
  act(*command, action, arguments, run);
  return command;
}

int show(const TrialArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  fmt::print("{}", report::show_text(store, arguments.trial, arguments.price));
  return 0;
}

int lineage(const TrialArguments& arguments) {
  fmt::print("{}",
             report::lineage_text(db::Store(arguments.db, db::Store::Mode::read), arguments.trial));
  return 0;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<TrialArguments>();
  auto* command = add_trial_command(app, action, "show", "show all that is recorded of a trial",
                                    arguments, show);
  add_price(*command, arguments->price);
}

void add_lineage(CLI::App& app, Action& action) {
  add_trial_command(app, action, "lineage",
                    "tell how a trial came about, step by step, with the gain of each",
                    std::make_shared<TrialArguments>(), lineage);
}

}  // namespace fa_tune::commands
