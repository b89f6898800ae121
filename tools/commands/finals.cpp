#include "engine/tuner/finals/finals.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/tuner/finals/finalists.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/session.hpp"
#include "tools/commands/summary.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

struct FinalsArguments {
  std::string db = "fa.db";
  std::optional<std::int64_t> run;
  std::string device = "auto";
  std::string format = "text";
  std::optional<std::uint64_t> seed;
  std::size_t limit = 100;
  std::vector<std::string> suites;
};

void print(const tuner::FinalRound& round, const std::vector<db::TrialRow>& failed,
           const db::RunRow& run, const device::DeviceInfo& device, std::uint64_t seed,
           bool as_json) {
  const auto raced = report::raced_finals(round.rows);
  const std::string kind = to_text(device.times);
  if (as_json) {
    Json json{{"run", run.id}, {"device", device.name},   {"kind", kind},
              {"seed", seed},  {"finals", Json::array()}, {"failed", Json::array()}};
    for (const db::FinalRow& row : round.rows) {
      json["finals"].push_back(
          {{"trial", row.trial}, {"time_us", report::interval_json(row.time.us)}});
      json["finals"].back().update(report::final_json(raced.at(row.trial)));
    }
    for (const db::TrialRow& trial : failed)
      json["failed"].push_back(
          {{"trial", trial.id}, {"finding", trial.finding}, {"message", trial.message}});
    fmt::print("{}\n", json.dump(2));
    return;
  }
  report::Table table({{"place", report::Align::right},
                       {"trial", report::Align::right},
                       {kind + " us", report::Align::right},
                       {"interval", report::Align::right},
                       {"cold L2 us", report::Align::right},
                       {"standing", report::Align::wrap}});
  for (const db::FinalRow& row : round.rows)
    table.add({std::to_string(row.place), std::to_string(row.trial),
               report::time_text(row.time.us.value), report::interval_text(row.time.us),
               row.cold ? report::time_text(row.cold->us.value) : "-",
               report::standing_text(raced.at(row.trial))});
  fmt::print("{}", table.text());
  for (const db::TrialRow& trial : failed)
    fmt::print("trial {} failed: {}: {}\n", trial.id, trial.finding, trial.message);
}

int finals(const FinalsArguments& arguments) {
  const auto root = require_root();
  const db::Store store(arguments.db, db::Store::Mode::read);
  const db::RunRow run = require_run(store, arguments.db, arguments.run);
  const tuner::TuningTask task = tuner::open_stored_task(run, root);
  auto finalists = tuner::choose_finalists(task, store, run.id);
  std::erase_if(finalists,
                [](const db::TrialRow& trial) { return trial.outcome != Outcome::passed; });
  if (finalists.size() > arguments.limit) finalists.resize(arguments.limit);
  if (finalists.empty())
    throw UserError(
        fmt::format("{}: run {} has no trial that passed, with a time", arguments.db, run.id));
  Session session(arguments.device, task.target, root);
  session.give_reference(*task.problem, task.target);
  const device::DeviceInfo& device = session.device().info();
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  announce_coverage(*task.problem);
  log_info("{} finalists of run {} on {} ({}), seed {}", finalists.size(), run.id, device.id,
           device.name, seed);
  std::vector<db::TrialRow> failed;
  const std::atomic<bool> stop{false};
  const tuner::FinalRound round =
      tuner::hold_finals(task, session.device(), session.pool(), emulator_in_worker(root),
                         finalists, seed, arguments.suites, stop,
                         {.failed = [&](const db::TrialRow& trial) { failed.push_back(trial); },
                          .step =
                              [](const std::string& step, int done, int of) {
                                if (done > 0) log_info("{} {} of {}", step, done, of);
                              }});
  if (!round.over) throw MachineError("the device was lost in the finals");
  print(round, failed, run, device, seed, arguments.format == "json");
  return round.rows.empty() ? 1 : 0;
}

}  // namespace

void add_finals(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "finals", "hold a run's finals once more, in new processes; nothing is recorded");
  auto arguments = std::make_shared<FinalsArguments>();
  add_db_option(*command, arguments->db, "database of the run");
  command->add_option("--run", arguments->run, "which run; the newest if not given");
  add_device_option(*command, arguments->device);
  command->add_option("-n,--limit", arguments->limit, "how many of the best by their screens")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--suite", arguments->suites,
                      "what they are gated on; all suites if not given");
  add_format_option(*command, arguments->format, {"text", "json"});
  add_seed(*command, arguments->seed, "of inputs and of the race; fresh if not given");
  act(*command, action, arguments, finals);
}

}  // namespace fa_tune::commands
