#include "engine/report/best.hpp"

#include <fmt/core.h>

#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/filters.hpp"

namespace fa_tune::commands {
namespace {

struct BestArguments {
  Filters filters;
  bool stable = false;
  std::string format = "table";
  int limit = 10;
};

int best(const BestArguments& arguments) {
  const db::Store store(arguments.filters.db, db::Store::Mode::read);
  db::TrialFilter filter = arguments.filters.resolved();
  filter.limit = arguments.limit;
  if (arguments.stable) {
    // Of one problem, shape and device, and all of it: the class may be larger than what is listed.
    filter.run = only_best(store, arguments.filters).run;
    filter.limit = -1;
  }
  auto trials = report::best_trials(store, filter);
  if (arguments.stable) trials = report::stable_pick(trials);
  fmt::print("{}", arguments.format == "json"  ? report::best_json(trials)
                   : arguments.format == "csv" ? report::best_csv(trials)
                                               : report::best_table(trials));
  if (!trials.empty()) return 0;
  log_warning("{}: no kernel that passed matches these filters", arguments.filters.db);
  return 1;
}

}  // namespace

void add_best(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("best", "list the fastest kernels that passed, of a database");
  auto arguments = std::make_shared<BestArguments>();
  arguments->filters.add_to(*command);
  add_format_option(*command, arguments->format, {"table", "json", "csv"});
  command->add_option("-n,--limit", arguments->limit, "how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--stable", arguments->stable,
                    "of those that tie with the fastest the one that another run would name too: "
                    "fewest registers, then least shared memory, then the first by its genes");
  act(*command, action, arguments, best);
}

}  // namespace fa_tune::commands
