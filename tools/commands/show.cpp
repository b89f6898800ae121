#include "engine/report/show.hpp"

#include <fmt/core.h>

#include "tools/commands/command.hpp"
#include "tools/commands/options.hpp"

namespace fa_tune {

void add_show(CLI::App& app, Action& action) {
  struct Arguments {
    std::int64_t trial = 0;
    std::string db = "fa.db";
    std::optional<double> price;
  };
  auto* command = app.add_subcommand("show", "show all that is recorded of a trial");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("trial", arguments->trial, "the trial's number, as `best` lists it")
      ->required();
  command->add_option("--db", arguments->db, "database to read")->capture_default_str();
  add_price(*command, arguments->price);
  command->callback([arguments, &action] {
    action = [arguments] {
      fmt::print("{}", show_text(Store(arguments->db, Store::Mode::read), arguments->trial,
                                 arguments->price));
      return 0;
    };
  });
}

}  // namespace fa_tune
