#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "engine/report/page/page.hpp"
#include "engine/tuner/task/roofline.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct ReportArguments {
  std::int64_t run = 0;
  std::string db = "fa.db";
  std::string out;
  std::string ablation;
  std::string beside;
  std::optional<double> price;
};

// What the device that a run was on can do: the profile that it emulates, else that of its
// model or architecture, whose SMs may be a few more or less than the GPU's own.
std::optional<report::RoofFacts> roof_of(const db::RunRow& run, const tuner::TuningTask& task) {
  constexpr std::string_view kEmulator = "emulator:";
  std::optional<device::DeviceProfile> profile;
  if (run.device.starts_with(kEmulator)) {
    std::string name = run.device.substr(kEmulator.size());
    name.resize(std::min(name.size(), name.find_first_of("*,")));
    profile = device::load_profile(name, task.root);
  } else {
    device::DeviceInfo gpu;
    gpu.name = run.device_name;
    gpu.arch = run.arch.substr(0, run.arch.find_last_not_of("af") + 1);
    gpu.sms = task.target.sms;
    profile = tuner::profile_of(gpu, task.target, task.root);
  }
  const problem::Problem& problem = *task.problem;
  // A space need not say how many operations its own problem takes.
  if (!profile || problem.flop(problem.shape()) <= 0) return std::nullopt;
  const tuner::Ceilings most = tuner::ceilings(*profile, profile->sms, problem.tensor_speed());
  return report::RoofFacts{
      .flop = problem.flop(problem.shape()),
      .bytes = problem.bytes(problem.shape()),
      .flop_per_us = most.flop_per_us,
      .l2_bytes_per_us = most.l2_bytes_per_us,
      .dram_bytes_per_us = most.dram_bytes_per_us,
      .source = fmt::format("profile {}, {} SMs", profile->name, profile->sms)};
}

int report(const ReportArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  const db::RunRow run = require_run(store, arguments.db, arguments.run);
  report::PageExtras extras;
  extras.price = arguments.price;
  if (!arguments.ablation.empty()) {
    extras.ablation =
        report::read_ablation(read_file(arguments.ablation, kJsonFile), arguments.ablation);
    const auto trial = store.trial(extras.ablation->trial);
    if (!trial || trial->run != run.id ||
        Config::from_json(trial->config_json) != extras.ablation->trial_config)
      throw UserError(fmt::format("{}: is of trial {}, which is not one of run {} with that config",
                                  arguments.ablation, extras.ablation->trial, run.id));
  }
  if (!arguments.beside.empty()) {
    extras.beside =
        report::read_rival_race(read_file(arguments.beside, kJsonFile), arguments.beside);
    const auto is_there = [&](const db::TrialRow& trial) {
      return Config::from_json(trial.config_json) == extras.beside->config;
    };
    if (!std::ranges::any_of(store.trials(run.id), is_there))
      throw UserError(fmt::format("{}: is a race of the config {}, which no trial of run {} has",
                                  arguments.beside, extras.beside->config.to_json(), run.id));
  }
  try {
    const tuner::TuningTask task = tuner::open_stored_task(run, require_root());
    for (const space::Preset& preset : task.space.presets())
      extras.presets.emplace_back(preset.name, preset.config.to_json());
    extras.roof = roof_of(run, task);
  } catch (const UserError& error) {
    log_warning("the space cannot be opened as it was, so presets and roofline are left out: {}",
                error.what());
  }
  write_file(arguments.out, report::run_page(store, run.id, std::move(extras)));
  log_info("wrote {}", arguments.out);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("report", "write a run as one HTML page that needs no network");
  auto arguments = std::make_shared<ReportArguments>();
  command->add_option("run", arguments->run, "the run's number")->required();
  command->add_option("--out", arguments->out, "the file to write")->type_name("FILE")->required();
  add_db_option(*command, arguments->db);
  command
      ->add_option("--ablation", arguments->ablation,
                   "what 'ablate --format json' wrote of one of the run's trials")
      ->type_name("FILE");
  command
      ->add_option("--beside", arguments->beside,
                   "a race of one of the run's kernels beside others', which "
                   "tools/bench/attention/sdpa.py or tools/bench/rivals/examples wrote")
      ->type_name("FILE");
  add_price(*command, arguments->price);
  act(*command, action, arguments, report);
}

}  // namespace fa_tune::commands
