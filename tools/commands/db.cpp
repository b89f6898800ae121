#include <filesystem>
#include <ranges>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "db/backup.hpp"
#include "db/check.hpp"
#include "db/merge.hpp"
#include "db/migrate.hpp"
#include "db/store.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

struct DbArguments {
  std::string file;
  std::string copy;
  std::string format = "text";

  bool json() const { return format == "json"; }
};

int check_file(const DbArguments& arguments) {
  const db::DatabaseReport report = db::check_database(arguments.file);
  const bool sound = report.defects.empty();
  Json json = {{"file", arguments.file},    {"sound", sound},
               {"schema", report.schema},   {"newest_schema", report.newest_schema},
               {"trials", report.trials},   {"samples", report.samples},
               {"defects", report.defects}, {"runs", Json::array()}};
  std::string text;
  for (const std::string& defect : report.defects) text += "DEFECT     " + defect + "\n";
  if (sound) {
    const db::Store store(arguments.file, db::Store::Mode::read);
    const std::vector<db::RunRow> runs = store.runs();
    for (const db::RunRow& run : std::views::reverse(runs)) {
      const std::string state = store.standing(run);
      const std::string fingerprint = report::run_fingerprint(store, run.id);
      json["runs"].push_back({{"run", run.id}, {"state", state}, {"fingerprint", fingerprint}});
      text += fmt::format("run {:<6} {:<22} fingerprint {}\n", run.id, state, fingerprint);
    }
    text += fmt::format("{}: sound; schema {}{}, {} runs, {} trials, {} series of samples\n",
                        arguments.file, report.schema,
                        report.schema == report.newest_schema
                            ? ""
                            : fmt::format(" (newest: {}, 'fa-tune db migrate' brings it there)",
                                          report.newest_schema),
                        report.runs, report.trials, report.samples);
  } else {
    text += fmt::format(
        "{}: not sound; restore a copy, or save what can be read with 'sqlite3 FILE .recover'\n",
        arguments.file);
  }
  fmt::print("{}", arguments.json() ? json.dump(2) + "\n" : text);
  return sound ? 0 : 1;
}

int backup(const DbArguments& arguments) {
  db::backup_database(arguments.file, arguments.copy);
  const auto bytes = std::filesystem::file_size(arguments.copy);
  if (arguments.json())
    fmt::print(
        "{}\n",
        Json({{"file", arguments.file}, {"copy", arguments.copy}, {"bytes", bytes}}).dump(2));
  else
    log_info("{} is in {}, {} bytes", arguments.file, arguments.copy, bytes);
  return 0;
}

int migrate(const DbArguments& arguments) {
  const db::Migrated migrated = db::migrate_database(arguments.file);
  const std::string copy = migrated.copy.string();
  if (arguments.json())
    fmt::print("{}\n", Json({{"file", arguments.file},
                             {"from", migrated.from},
                             {"to", migrated.to},
                             {"copy", copy.empty() ? Json() : Json(copy)}})
                           .dump(2));
  else if (migrated.from == migrated.to)
    log_info("{} has schema {} already", arguments.file, migrated.to);
  else
    log_info("{} went from schema {} to {}; as it was it is in {}", arguments.file, migrated.from,
             migrated.to, copy);
  return 0;
}

struct MergeArguments {
  std::string first;
  std::string second;
  std::string out;
  std::string format = "text";
};

int merge(const MergeArguments& arguments) {
  heed_interrupts();
  const auto merged =
      db::merge_databases(arguments.first, arguments.second, arguments.out, stop_asked());
  if (!merged) {
    log_info("interrupted; {} was not made", arguments.out);
    return 130;
  }
  if (arguments.format == "json")
    fmt::print("{}\n", Json({{"file", arguments.out},
                             {"runs", merged->runs},
                             {"trials", merged->trials},
                             {"runs_before", merged->runs_before},
                             {"trials_before", merged->trials_before}})
                           .dump(2));
  else
    log_info("{} has {} runs and {} trials: run 1 and trial 1 of {} are run {} and trial {} there",
             arguments.out, merged->runs, merged->trials, arguments.second, merged->runs_before + 1,
             merged->trials_before + 1);
  return 0;
}

CLI::App* add(CLI::App& above, const char* name, const char* what, int (*run)(const DbArguments&),
              const std::shared_ptr<DbArguments>& arguments, Action& action) {
  auto* command = above.add_subcommand(name, what);
  command->add_option("file", arguments->file, "the database")->type_name("FILE")->required();
  add_format_option(*command, arguments->format, {"text", "json"});
  act(*command, action, arguments, run);
  return command;
}

}  // namespace

void add_db(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("db", "check, copy, or bring up to date a database");
  command->require_subcommand(1);
  auto arguments = std::make_shared<DbArguments>();
  add(*command, "check", "read the whole file and say what is wrong with it", check_file, arguments,
      action);
  add(*command, "backup", "copy it into a new file, while others work on it", backup, arguments,
      action)
      ->add_option("copy", arguments->copy, "the new file")
      ->type_name("FILE")
      ->required();
  add(*command, "migrate", "bring an older one up to date; a copy as it was stays beside it",
      migrate, arguments, action);
}

void add_merge(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "merge", "join two databases in a new file: the second's runs and trials are renumbered");
  auto arguments = std::make_shared<MergeArguments>();
  command->add_option("first", arguments->first, "a database; its numbers stay as they are")
      ->type_name("FILE")
      ->required();
  command->add_option("second", arguments->second, "another one")->type_name("FILE")->required();
  command->add_option("--out", arguments->out, "the new file")->type_name("FILE")->required();
  add_format_option(*command, arguments->format, {"text", "json"});
  act(*command, action, arguments, merge);
}

}  // namespace fa_tune::commands
