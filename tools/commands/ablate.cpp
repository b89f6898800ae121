#include <optional>
#include <random>

#include <fmt/core.h>

#include "engine/report/rows.hpp"
#include "engine/tuner/ablation/ablation.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

struct AblateArguments {
  std::int64_t trial = 0;
  std::string db = "fa.db";
  std::string device = "auto";
  std::string baseline;
  std::string genes = "differing";
  std::string format = "table";
  std::optional<std::uint64_t> seed;
};

int ablate_trial(const AblateArguments& arguments) {
  const auto root = require_root();
  const db::Store store(arguments.db, db::Store::Mode::read);
  const report::TrialOfRun both = report::require_trial(store, arguments.trial);
  const db::RunRow& run = both.run;
  const tuner::TuningTask task = tuner::open_stored_task(run, root);
  Session session(arguments.device, task.target, root);
  session.give_reference(*task.problem, task.target);
  const device::DeviceInfo& device = session.device().info();
  tuner::AblationOptions options;
  options.baseline = arguments.baseline;
  options.first = tuner::first_passed(store.trials(run.id), both.trial);
  options.all_genes = arguments.genes == "all";
  options.seed = arguments.seed ? *arguments.seed : std::random_device{}();
  log_info("on {} ({}), seed {}", device.id, device.name, options.seed);
  const report::Ablation found =
      tuner::ablate(task, both.trial, session.device(), session.pool(), options,
                    [](const std::string& step) { log_info("{}", step); });
  fmt::print("{}", arguments.format == "json" ? report::ablation_json(found, run)
                                              : report::ablation_text(found, run));
  return 0;
}

}  // namespace

void add_ablate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "ablate", "tell what each gene of a trial is worth: put it back to a baseline's value, race");
  auto arguments = std::make_shared<AblateArguments>();
  add_trial_option(*command, arguments->trial);
  add_db_option(*command, arguments->db, "database of the trial");
  add_device_option(*command, arguments->device);
  command->add_option(
      "--baseline", arguments->baseline,
      "a preset of the space; if not given the first one of the trial's template, or "
      "where there is none the run's first trial that passed");
  command
      ->add_option("--genes", arguments->genes,
                   "differing: those that differ from the baseline; all: also every other value of "
                   "the others")
      ->check(CLI::IsMember({"differing", "all"}))
      ->capture_default_str();
  add_format_option(*command, arguments->format, {"table", "json"});
  add_seed(*command, arguments->seed, "of inputs and of the races; fresh if not given");
  act(*command, action, arguments, ablate_trial);
}

}  // namespace fa_tune::commands
