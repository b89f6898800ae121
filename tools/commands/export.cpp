#include "engine/report/export.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/export/text.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/report/rows.hpp"
#include "engine/tuner/task/any_size.hpp"
#include "engine/tuner/task/packaging.hpp"
#include "engine/tuner/task/trial_metadata.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/gzip.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/log.hpp"
#include "engine/util/shell.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/filters.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

struct ExportArguments {
  Filters filters;
  std::vector<std::string> kernels;
  std::optional<std::int64_t> trial;
  std::string portfolio;
  std::string form = "cu";
  std::string out;
  bool any_size = false;
  std::string gate_on = "auto";  // the device that other sizes are gated on
};

// What leaves together, as `export --as header|ptx|torch` is asked for it.
struct PackageWishes {
  std::vector<std::string> kernels;  // trials or exported files
  std::string portfolio;             // or: a file that `portfolio --out` wrote
  std::string form;
  std::string out;
  std::optional<std::string> any_size = {};  // where it is wanted: the device
};

// How a trial is launched at any sizes, gated at some of them.
exports::AnySize any_size_of(const db::Store& store, std::int64_t trial,
                             const std::string& device) {
  const auto row = store.trial(trial);
  if (!row) throw UserError(fmt::format("there is no trial {}", trial));
  const auto run = store.run(row->run);
  const tuner::TuningTask task = tuner::open_stored_task(*run, require_root());
  const Config config = Config::from_json(row->config_json);
  try {
    exports::AnySize any =
        tuner::any_size(task.template_of(config), *task.problem, task.target, task.file, config);
    Session session(device, task.target, require_root());
    session.give_reference(*task.problem, task.target);
    const auto variant = tuner::make_variant(task, config, session.pool(), session.device());
    tuner::gate_any_size(*task.problem, variant->binder(), session.device(), row->run, any);
    log_info("trial {} passed on {} at {} too", trial, session.device().info().id, any.gated);
    return any;
  } catch (const UserError& error) {
    throw UserError(fmt::format("trial {} is not exported for any sizes: {}", trial, error.what()));
  }
}

void take_trial(const db::Store& store, std::int64_t trial, const PackageWishes& wishes,
                tuner::Packager& packager) {
  std::optional<exports::AnySize> any;
  if (wishes.any_size) any = any_size_of(store, trial, *wishes.any_size);
  packager.add_trial(store, trial, std::nullopt, std::move(any));
}

void take_best(const Filters& filters, bool one, const PackageWishes& wishes,
               tuner::Packager& packager) {
  const db::Store store(filters.db, db::Store::Mode::read);
  if (one) return take_trial(store, only_best(store, filters).id, wishes, packager);
  for (const db::TrialRow& trial : best_of_each(store, filters))
    take_trial(store, trial.id, wishes, packager);
}

void take_named(const std::string& db, const PackageWishes& wishes, tuner::Packager& packager) {
  std::optional<db::Store> store;
  for (const std::string& kernel : wishes.kernels) {
    if (kernel.ends_with(".cu")) {
      if (wishes.any_size)
        throw UserError(kernel +
                        ": --any-size is of trials, whose conditions the database knows; name the "
                        "trial");
      packager.add_file(kernel);
      continue;
    }
    const std::int64_t trial = trial_number(kernel);
    if (!store) store.emplace(db, db::Store::Mode::read);
    take_trial(*store, trial, wishes, packager);
  }
}

// Trials at the shapes that they were chosen for.
void take_portfolio(const std::string& file, const std::string& db, tuner::Packager& packager) {
  const auto json = parse_json<nlohmann::json>(read_file(file, kJsonFile));
  const auto wrong = [&] {
    return UserError(file +
                     ": expected what 'fa-tune portfolio --out' writes: an object with "
                     "\"shapes\", each with \"shape\" and \"trial\"");
  };
  if (!json.is_object() || !json.contains("shapes") || !json["shapes"].is_array()) throw wrong();
  const db::Store store(db, db::Store::Mode::read);
  for (const auto& each : json["shapes"]) {
    if (!each.is_object() || !each.contains("shape") || !each.contains("trial") ||
        !each["trial"].is_number_integer())
      throw wrong();
    packager.add_trial(store, each["trial"].get<std::int64_t>(),
                       report::shape_of(each["shape"].dump()));
  }
}

std::string text_of(const exports::Package& package, const std::string& form) {
  if (form == "ptx") return exports::ptx_text(package);
  return form == "header" ? exports::cxx_header(package) : exports::torch_module(package);
}

// Where neither kernels nor a portfolio are named: the best trial of each shape and device that the
// filters leave; for ptx the best of all.
int export_package(const Filters& filters, const PackageWishes& wishes) {
  const bool one = wishes.form == "ptx";
  if (one && (wishes.kernels.size() > 1 || !wishes.portfolio.empty()))
    throw UserError("--as ptx writes one kernel: name one");
  if (wishes.any_size && !wishes.portfolio.empty())
    throw UserError("--any-size and --portfolio, which is of certain shapes, exclude each other");
  const auto compiler = open_compiler();
  tuner::Packager packager(*compiler, one ? BinaryKind::ptx : BinaryKind::cubin, require_root(),
                           FA_TUNE_VERSION);
  if (!wishes.portfolio.empty())
    take_portfolio(wishes.portfolio, filters.db, packager);
  else if (wishes.kernels.empty())
    take_best(filters, one, wishes, packager);
  else
    take_named(filters.db, wishes, packager);
  exports::Package package = packager.package();
  package.name = exports::identifier(std::filesystem::path(wishes.out).stem().string());
  write_file(wishes.out, text_of(package, wishes.form));
  log_info("{} {}, for {} {}, in {}:", package.kernels.size(),
           package.kernels.size() == 1 ? "kernel" : "kernels", package.calls.size(),
           package.calls.size() == 1 ? "shape" : "shapes", wishes.out);
  for (const exports::PackagedCall& call : package.calls)
    log_info("  {} on {}: {}", call.described, call.device.empty() ? "any" : call.device,
             call.origin);
  return 0;
}

bool is_table(const std::string& form) { return form == "t4" || form == "cachefile"; }

std::int64_t chosen(const db::Store& store, const ExportArguments& arguments) {
  if (arguments.trial) return *arguments.trial;
  if (arguments.kernels.size() == 1) return trial_number(arguments.kernels.front());
  return only_best(store, arguments.filters).id;
}

// A whole run for other tools.
int export_run(const ExportArguments& arguments) {
  if (!arguments.filters.filter.run || arguments.trial || !arguments.kernels.empty())
    throw UserError("--as " + arguments.form + " writes a whole run: name it with --run alone");
  const db::Store store(arguments.filters.db, db::Store::Mode::read);
  const community::RecordedRun run = report::run_table(store, *arguments.filters.filter.run);
  const std::string text =
      arguments.form == "t4" ? community::t4_text(run) : community::cachefile_text(run);
  write_file(arguments.out, arguments.out.ends_with(".gz") ? gzip(text) : text);
  log_info("{} trials are in {}", run.trials.size(), arguments.out);
  return 0;
}

int export_command(const ExportArguments& arguments) {
  if (arguments.trial && !arguments.kernels.empty())
    throw UserError("name the trial by --trial or by itself, not both");
  if (is_table(arguments.form)) {
    if (arguments.any_size) throw UserError("--any-size is of kernels, not of tables");
    return export_run(arguments);
  }
  if (arguments.form != "cu") {
    PackageWishes wishes{arguments.kernels, arguments.portfolio, arguments.form, arguments.out};
    if (arguments.any_size) wishes.any_size = arguments.gate_on;
    if (arguments.trial) wishes.kernels.push_back(std::to_string(*arguments.trial));
    if (!wishes.portfolio.empty() && !wishes.kernels.empty())
      throw UserError("name kernels or a --portfolio, not both");
    return export_package(arguments.filters, wishes);
  }
  if (arguments.kernels.size() > 1 || !arguments.portfolio.empty())
    throw UserError("--as cu writes one kernel: name one trial");
  const db::Store store(arguments.filters.db, db::Store::Mode::read);
  report::ExportFacts facts =
      tuner::trial_facts(store, chosen(store, arguments), require_root(), FA_TUNE_VERSION);
  if (arguments.any_size)
    facts.any_size =
        exports::any_size_json(any_size_of(store, facts.trial, arguments.gate_on)).dump();
  write_file(arguments.out, report::export_text(facts));
  log_info("trial {} is in {}; gate it there with: {} verify {}", facts.trial, arguments.out,
           program_name(), shell_word(arguments.out));
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("export", "write winners for programs to use, or a run as a table");
  auto arguments = std::make_shared<ExportArguments>();
  command
      ->add_option("kernels", arguments->kernels,
                   "trials, or exported .cu files; if not given the best trial, with torch and "
                   "header that of each shape and device")
      ->type_name("FILE");
  arguments->filters.add_to(*command);
  command->add_option("--trial", arguments->trial, "this trial; the best one if not given");
  command
      ->add_option("--portfolio", arguments->portfolio,
                   "header, torch: the kernels that 'fa-tune portfolio --out' chose, each for "
                   "its shapes")
      ->type_name("FILE");
  command
      ->add_option(
          "--as", arguments->form,
          "cu: the kernel's source; ptx: its PTX, with how it is launched; header: a C++ header "
          "with its machine code; torch: a Python module for PyTorch; t4, cachefile: all trials of "
          "--run, for other tools")
      ->capture_default_str()
      ->check(CLI::IsMember({"cu", "header", "ptx", "torch", "t4", "cachefile"}));
  command->add_flag(
      "--any-size", arguments->any_size,
      "for all sizes that are not compiled in: the launch is computed from them; gated "
      "at some before");
  command
      ->add_option("--gate-on", arguments->gate_on,
                   "with --any-size: the device, auto, cuda:N or emulator:PROFILE")
      ->capture_default_str();
  command
      ->add_option("--out", arguments->out, "file to write; a table is packed where it ends in .gz")
      ->type_name("FILE")
      ->required();
  act(*command, action, arguments, export_command);
}

}  // namespace fa_tune::commands
