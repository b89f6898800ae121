#include "engine/report/export.hpp"

#include <fmt/core.h>

#include "engine/report/recorded_run.hpp"
#include "engine/tuner/task/trial_metadata.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/gzip.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/export_package.hpp"
#include "tools/commands/filters.hpp"
#include "tools/commands/options.hpp"

namespace fa_tune {
namespace {

struct ExportArguments {
  Filters filters;
  std::vector<std::string> kernels;
  std::optional<std::int64_t> trial;
  std::string portfolio;
  std::string form = "cu";
  std::string out;
};

bool is_table(const std::string& form) { return form == "t4" || form == "cachefile"; }

std::int64_t chosen(const Store& store, const ExportArguments& arguments) {
  if (arguments.trial) return *arguments.trial;
  if (arguments.kernels.size() == 1) return trial_number(arguments.kernels.front());
  return only_best(store, arguments.filters).id;
}

// A whole run for other tools.
int export_run(const ExportArguments& arguments) {
  if (!arguments.filters.filter.run || arguments.trial || !arguments.kernels.empty())
    throw UserError("--as " + arguments.form + " writes a whole run: name it with --run alone");
  const Store store(arguments.filters.db, Store::Mode::read);
  const RecordedRun run = run_table(store, *arguments.filters.filter.run);
  const std::string text = arguments.form == "t4" ? t4_text(run) : cachefile_text(run);
  write_file(arguments.out, arguments.out.ends_with(".gz") ? gzip(text) : text);
  log_info("{} trials are in {}", run.trials.size(), arguments.out);
  return 0;
}

int export_command(const ExportArguments& arguments) {
  if (arguments.trial && !arguments.kernels.empty())
    throw UserError("name the trial by --trial or by itself, not both");
  if (is_table(arguments.form)) return export_run(arguments);
  if (arguments.form != "cu") {
    PackageWishes wishes{arguments.kernels, arguments.portfolio, arguments.form, arguments.out};
    if (arguments.trial) wishes.kernels.push_back(std::to_string(*arguments.trial));
    if (!wishes.portfolio.empty() && !wishes.kernels.empty())
      throw UserError("name kernels or a --portfolio, not both");
    return export_package(arguments.filters, wishes);
  }
  if (arguments.kernels.size() > 1 || !arguments.portfolio.empty())
    throw UserError("--as cu writes one kernel: name one trial");
  const Store store(arguments.filters.db, Store::Mode::read);
  const ExportFacts facts =
      trial_facts(store, chosen(store, arguments), require_root(), FA_TUNE_VERSION);
  write_file(arguments.out, export_text(facts));
  log_info("trial {} is in {}; gate it there with: fa-tune verify {}", facts.trial, arguments.out,
           arguments.out);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("export", "write winners for programs to use, or a run as a table");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("kernels", arguments->kernels,
                      "trials, or exported .cu files; if not given the best trial, with torch and "
                      "header that of each shape and device");
  arguments->filters.add_to(*command);
  command->add_option("--trial", arguments->trial, "this trial; the best one if not given");
  command->add_option("--portfolio", arguments->portfolio,
                      "header, torch: the kernels that 'fa-tune portfolio --out' chose, each for "
                      "its shapes");
  command
      ->add_option(
          "--as", arguments->form,
          "cu: the kernel's source; ptx: its PTX, with how it is launched; header: a C++ header "
          "with its machine code; torch: a Python module for PyTorch; t4, cachefile: all trials of "
          "--run, for other tools")
      ->capture_default_str()
      ->check(CLI::IsMember({"cu", "header", "ptx", "torch", "t4", "cachefile"}));
  command
      ->add_option("--out", arguments->out, "file to write; a table is packed where it ends in .gz")
      ->required();
  command->callback(
      [arguments, &action] { action = [arguments] { return export_command(*arguments); }; });
}

}  // namespace fa_tune
