#include <algorithm>
#include <random>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/gate/gate.hpp"
#include "engine/report/export.hpp"
#include "engine/report/table.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

struct VerifyArguments {
  std::string file;
  std::string db = "fa.db";
  std::optional<std::int64_t> trial;
  std::string device = "auto";
  std::vector<std::string> suites;
  std::optional<std::uint64_t> seed;
  std::string format = "table";
};

// Gates suite by suite and prints a row each; `fits` says which shapes the kernel can be bound to.
int gate_suites(const problem::Problem& problem, const std::vector<problem::Suite>& suites,
                device::Device& device, const gate::Binder& bind,
                const std::function<bool(const Constants&)>& fits,
                const VerifyArguments& arguments) {
  // Fresh inputs each time, unless the user wants to see a verdict again.
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  log_info("gating on {} ({}), seed {}", device.info().id, device.info().name, seed);
  gate::TruthCache truth(problem, problem::Truth::thorough);
  gate::Gate gate(device, truth);
  report::Table table({{"suite", report::Align::left},
                       {"cases", report::Align::right},
                       {"error/allowed", report::Align::right},
                       {"rel. RMS", report::Align::right},
                       {"verdict", report::Align::wrap}});
  auto rows = nlohmann::ordered_json::array();
  bool passed = true;
  std::vector<std::pair<std::string, std::vector<gate::GateCase>>> all;
  for (const problem::Suite& suite : suites)
    all.emplace_back(to_text(suite.name), gate::gate_cases(suite, seed, gate::Crossing::full));
  if (auto hidden = gate::hidden_cases(problem, seed); arguments.suites.empty() && !hidden.empty())
    all.emplace_back("hidden", std::move(hidden));
  for (auto& [name, cases] : all)
    std::erase_if(cases, [&](const gate::GateCase& each) { return !fits(each.shape); });
  const auto none = [](const auto& each) { return each.second.empty(); };
  const auto missing = std::ranges::find_if(all, none);
  if (missing != all.end() && (!arguments.suites.empty() || std::ranges::all_of(all, none)))
    throw UserError("suite '" + missing->first +
                    "' has no case of a shape that this kernel is compiled for");
  std::vector<std::string> unchecked;
  for (auto& [name, cases] : all) {
    if (!device.info().checks) break;
    for (const Constants& shape : gate::sanitize_more(problem, cases))
      if (const std::string text = problem.describe(shape);
          std::ranges::find(unchecked, text) == unchecked.end())
        unchecked.push_back(text);
  }
  if (!unchecked.empty())
    log_warning(
        "too large to be looked at for races, barriers and unwritten memory: {}; what only these "
        "sizes show of that is not found",
        fmt::join(unchecked, "; "));
  for (const auto& [name, cases] : all) {
    if (cases.empty()) {
      table.add({name, "none", "", "", "not gated: no such case fits the kernel"});
      rows.push_back({{"suite", name}, {"cases", 0}});
      continue;
    }
    const gate::Verdict verdict = gate.check(bind, cases);
    passed = passed && verdict.passed();
    table.add({name, std::to_string(verdict.cases), fmt::format("{:.3f}", verdict.worst_ratio),
               fmt::format("{:.2e}", verdict.worst_rms),
               verdict.passed() ? "passed" : verdict.finding + ": " + verdict.rejection().message});
    rows.push_back({{"suite", name},
                    {"cases", verdict.cases},
                    {"error_of_allowed", verdict.worst_ratio},
                    {"rms", verdict.worst_rms},
                    {"verdict", verdict.finding}});
    if (!verdict.passed()) rows.back()["message"] = verdict.rejection().message;
    if (device.lost()) break;
  }
  if (arguments.format == "json")
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{
            {"seed", seed}, {"passed", passed}, {"not_sanitized", unchecked}, {"suites", rows}}
            .dump(2));
  else
    fmt::print("{}", table.text());
  return passed ? 0 : 1;
}

int verify_file(const VerifyArguments& arguments) {
  const report::Exported exported = report::read_exported(arguments.file);
  if (exported.edited)
    log_warning(
        "{}: the kernel's text was edited since it was exported; what is there now is gated",
        arguments.file);
  const auto problem =
      tuner::make_problem(exported.problem, exported.settings, arguments.file + ": ");
  const auto suites = problem::chosen_suites(*problem, arguments.suites);
  const auto root = require_root();
  const device::DeviceProfile target = device::load_profile(exported.target, root);
  Session session(arguments.device, target, root);
  session.give_reference(*problem, target);
  tuner::ExportedKernel kernel(exported, *problem, target, session.compiler(), session.device());
  return gate_suites(
      *problem, suites, session.device(),
      [&](const Constants& shape) { return kernel.bind(shape); },
      [&](const Constants& shape) { return kernel.fits(shape); }, arguments);
}

int verify_trial(const VerifyArguments& arguments) {
  const db::Store store(arguments.db, db::Store::Mode::read);
  const auto trial = store.trial(*arguments.trial);
  if (!trial)
    throw UserError(fmt::format("{}: there is no trial {}", arguments.db, *arguments.trial));
  const auto run = store.run(trial->run);
  const auto root = require_root();
  const tuner::TuningTask task = tuner::open_stored_task(*run, root);
  const auto suites = problem::chosen_suites(*task.problem, arguments.suites);
  Session session(arguments.device, task.target, root);
  session.give_reference(*task.problem, task.target);
  const Config config = Config::from_json(trial->config_json);
  const auto variant = tuner::make_variant(task, config, session.pool(), session.device());
  if (variant->source().hash != trial->source_hash)
    log_warning("the templates have changed since trial {}: what they give now is gated",
                trial->id);
  return gate_suites(
      *task.problem, suites, session.device(), variant->binder(),
      [](const Constants&) { return true; }, arguments);
}

int verify(const VerifyArguments& arguments) {
  if (arguments.file.empty() == !arguments.trial)
    throw UserError("verify takes either an exported FILE or --trial ID with --db");
  return arguments.trial ? verify_trial(arguments) : verify_file(arguments);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("verify", "gate a kernel again, on fresh inputs");
  auto arguments = std::make_shared<VerifyArguments>();
  command->add_option("file", arguments->file, "an exported .cu file")->type_name("FILE");
  command->add_option("--trial", arguments->trial, "a trial of the database instead");
  add_db_option(*command, arguments->db);
  add_device_option(*command, arguments->device);
  command->add_option("--suite", arguments->suites,
                      "only these suites; all, and hidden shapes, if not given");
  add_format_option(*command, arguments->format, {"table", "json"});
  add_seed(*command, arguments->seed, "of the inputs; fresh if not given");
  act(*command, action, arguments, verify);
}

}  // namespace fa_tune::commands
