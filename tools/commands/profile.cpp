#include <charconv>
#include <filesystem>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/profiler/ncu.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/tuner/ablation/tuning_hints.hpp"
#include "engine/tuner/profiling/profiling.hpp"
#include "engine/tuner/task/trial_metadata.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

constexpr std::string_view kEmulatorPrefix = "emulator:";

struct ProfileArguments {
  std::string kernel;
  std::string db = "fa.db";
  std::string device = "auto";
  std::string with;
  std::string ncu;
  std::string ncu_output;
  std::string format = "table";
  std::optional<std::uint64_t> seed;
};

// A trial of the database, or an exported file.
struct Profiled {
  std::string name;
  std::string text;  // as an exported file has it
  std::optional<report::TrialOfRun> trial;
};

Profiled open_profiled(const ProfileArguments& arguments, const std::filesystem::path& root) {
  if (arguments.kernel.ends_with(".cu"))
    return {arguments.kernel, read_file(arguments.kernel, kExportedFile), std::nullopt};
  const db::Store store(arguments.db, db::Store::Mode::read);
  const report::TrialOfRun both = report::require_trial(store, trial_number(arguments.kernel));
  const std::int64_t id = both.trial.id;
  return {fmt::format("trial {}", id),
          report::export_text(tuner::trial_facts(store, id, root, FA_TUNE_VERSION)), both};
}

// The device by its name, and with whom it is looked at.
struct Place {
  std::string device;
  bool emulated = false;
};

Place place_of(const ProfileArguments& arguments, const device::DeviceProfile& target) {
  const bool emulator = arguments.device.starts_with("emulator");
  if (arguments.with == "ncu" && emulator)
    throw UserError("--with ncu: " + arguments.device +
                    " is no GPU; name one with --device, or leave --with out");
  if (arguments.with == "emulator" && !emulator) {
    if (arguments.device != "auto")
      throw UserError("--with emulator: " + arguments.device +
                      " is no emulator; write --device emulator:PROFILE, or leave --device out");
    return {std::string(kEmulatorPrefix) + target.given, true};
  }
  return {arguments.device, emulator};
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

report::TuningHints moves_for(const Profiled& profiled, const ProfileArguments& arguments,
                              Bottleneck limit, const std::filesystem::path& root) {
  if (profiled.trial) {
    const db::Store store(arguments.db, db::Store::Mode::read);
    const db::RunRow& run = profiled.trial->run;
    const tuner::TuningTask task = tuner::open_stored_task(run, root);
    return tuner::next_moves(store, profiled.trial->trial, task, limit);
  }
  const report::Exported exported = report::parse_exported(profiled.text, profiled.name);
  return tuner::next_moves(kernel::Template::parse(exported.template_name, exported.manifest_text,
                                                   exported.cuda_text, "exported manifest"),
                           exported.config, limit);
}

void print(const Profiled& profiled, const report::Profile& profile,
           const report::TuningHints& next, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json json = report::profile_json(profile);
    json["kernel"] = profiled.name;
    json["trial"] = profiled.trial ? nlohmann::ordered_json(profiled.trial->trial.id) : nullptr;
    json["next"] = next.moves;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}{}\n{}",
             report::paragraph(
                 fmt::format("Profile of {}, by {}", profiled.name, report::source_words(profile))),
             report::profile_text(profile), report::next_moves_text(next));
}

void record(const ProfileArguments& arguments, std::int64_t trial, const report::Profile& profile) {
  db::ProfileRow row;
  row.trial = trial;
  row.source = profile.source;
  row.version = profile.version;
  row.device = profile.device;
  row.device_name = profile.device_name;
  row.driver = profile.driver;
  row.time_kind = profile.time_kind;
  row.time_us = profile.time_us;
  row.limited_by = to_text(profile.limit);
  row.profile_json = report::profile_json(profile).dump();
  db::Store(arguments.db, db::Store::Mode::write).record_profile(row);
}

int profile_command(const ProfileArguments& arguments) {
  const auto root = require_root();
  const Profiled profiled = open_profiled(arguments, root);
  auto tested = tuner::kernel_of_export(profiled.name, profiled.text, root);
  const device::DeviceProfile target = tested->target();
  const Place place = place_of(arguments, target);
  // What is missing is said before a GPU works for it.
  tuner::ProfilingOptions options;
  options.root = root;
  options.text = profiled.text;
  options.jobs = default_jobs();
  auto device = worker::open_device_in_worker(place.device, target, root);
  if (device->info().times == device::TimeKind::predicted) {
    options.model = place.emulated
                        ? device::load_profile(place.device.substr(kEmulatorPrefix.size()), root)
                        : target;
    if (arguments.with == "ncu")
      throw MachineError("--with ncu: there is no usable GPU; 'fa-tune doctor' says why");
  } else {
    options.measured.ncu = profiler::find_ncu(arguments.ncu);
    options.measured.program = {own_program(), "profiled"};
    options.measured.keep = arguments.ncu_output;
  }
  auto compiler = open_compiler();
  tested->use_reference(reference_beside(*device, *compiler, target, root));
  options.seed = arguments.seed ? *arguments.seed : std::random_device{}();
  log_info("on {} ({}), seed {}", device->info().id, device->info().name, options.seed);
  const auto profile =
      tuner::profile_kernel(std::move(tested), std::move(device), std::move(compiler), options);
  if (!profile) throw UserError(profile.error());
  print(profiled, *profile, moves_for(profiled, arguments, profile->limit, root),
        arguments.format == "json");
  if (profiled.trial) record(arguments, profiled.trial->trial.id, *profile);
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "profile",
      "tell what limits a kernel, and which genes to try next: by Nsight Compute on a "
      "GPU, by the emulator's model without one");
  auto arguments = std::make_shared<ProfileArguments>();
  command->add_option("trial", arguments->kernel, "a trial's number, or an exported .cu file")
      ->type_name("FILE")
      ->required();
  add_db_option(*command, arguments->db, "database of the trial, which keeps its profile");
  add_device_option(*command, arguments->device);
  command
      ->add_option("--with", arguments->with, "ncu or emulator; what suits the device if not given")
      ->check(CLI::IsMember({"ncu", "emulator"}));
  command
      ->add_option("--ncu", arguments->ncu,
                   "Nsight Compute's program; else FA_TUNE_NCU, PATH, CUDA_HOME/bin, "
                   "/usr/local/cuda*/bin and /opt/nvidia are looked through")
      ->type_name("FILE");
  command
      ->add_option("--ncu-output", arguments->ncu_output,
                   "a file for what Nsight Compute prints, read or not")
      ->type_name("FILE");
  add_format_option(*command, arguments->format, {"table", "json"});
  add_seed(*command, arguments->seed, "of the inputs; fresh if not given");
  act(*command, action, arguments, profile_command);
}

}  // namespace fa_tune::commands
