#include "tools/commands/trial_page.hpp"

#include <fmt/core.h>

namespace fa_tune {

void add_trial_page(CLI::App& app, Action& action, const std::string& name, const std::string& help,
                    std::string (*text)(const Store& store, std::int64_t trial)) {
  struct Arguments {
    std::int64_t trial = 0;
    std::string db = "fa.db";
  };
  auto* command = app.add_subcommand(name, help);
  auto arguments = std::make_shared<Arguments>();
  command->add_option("trial", arguments->trial, "the trial's number, as `best` lists it")
      ->required();
  command->add_option("--db", arguments->db, "database to read")->capture_default_str();
  command->callback([arguments, text, &action] {
    action = [arguments, text] {
      fmt::print("{}", text(Store(arguments->db, Store::Mode::read), arguments->trial));
      return 0;
    };
  });
}

}  // namespace fa_tune
