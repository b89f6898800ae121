#include "engine/report/best.hpp"

#include <fmt/core.h>

#include "engine/report/held_pick.hpp"
#include "engine/util/log.hpp"
#include "engine/util/shell.hpp"
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

// The one kernel to name for a problem, shape and device: of the run that --run says, or of all.
std::vector<report::TrialOfRun> stable_pick(const db::Store& store, const Filters& filters) {
  const db::TrialRow fastest = only_best(store, filters);
  if (filters.filter.run) {
    // All of it: the class that ties may be larger than what is listed.
    db::TrialFilter whole = filters.resolved();
    whole.limit = -1;
    return report::stable_pick(report::best_trials(store, whole));
  }
  const auto pick = report::held_pick(store, report::key_of(store.run(fastest.run).value()));
  const auto own = report::shown_us(pick->trial), other = report::shown_us(fastest);
  if (pick->run.id != fastest.run && own && other && *other < *own)
    log_info(
        "trial {} of run {} has {:.1f}% less time by figures of its own, but no race says so: "
        "'fa-tune bench {} {} --db {}' holds one",
        fastest.id, fastest.run, 100 * (1 - *other / *own), pick->trial.id, fastest.id,
        shell_word(filters.db));
  return {*pick};
}

int best(const BestArguments& arguments) {
  const db::Store store(arguments.filters.db, db::Store::Mode::read);
  db::TrialFilter filter = arguments.filters.resolved();
  filter.limit = arguments.limit;
  const auto trials =
      arguments.stable ? stable_pick(store, arguments.filters) : report::best_trials(store, filter);
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
  command->add_flag(
      "--stable", arguments->stable,
      "the one kernel to name: of those that tie with the fastest the one with the fewest "
      "registers, then least shared memory, then the first by its genes; what an earlier "
      "run named stays until a race says better");
  act(*command, action, arguments, best);
}

}  // namespace fa_tune::commands
