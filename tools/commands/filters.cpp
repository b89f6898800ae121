#include "tools/commands/filters.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/held_pick.hpp"
#include "engine/report/rows.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::commands {
namespace {

// "H=8,Lq=512,causal=false" as the JSON object the store compares with.
std::string shape_json(const std::string& text) {
  if (text.starts_with("{")) return text;
  auto shape = nlohmann::json::object();
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
      throw UserError("--shape '" + text + "': expected NAME=VALUE,... such as Lq=512,D=64");
    const std::string value = item.substr(equals + 1);
    const auto parsed = nlohmann::json::parse(value, nullptr, false);
    shape[item.substr(0, equals)] = parsed.is_discarded() ? nlohmann::json(value) : parsed;
  }
  return shape.dump();
}

}  // namespace

void Filters::add_to(CLI::App& command) {
  command.add_option("--db", db, "database to read")->type_name("FILE")->capture_default_str();
  command.add_option("--space", filter.space, "only trials of this space");
  command.add_option("--device", filter.device,
                     "only trials of this device (cuda:0, emulator:l4, or its name)");
  command.add_option("--shape", shape, "only trials timed at this shape (Lq=512,D=64)");
  command.add_option("--run", filter.run, "only trials of this run");
  command
      .add_option("--time-kind", filter.time_kind,
                  "measured or predicted; if not given, measured where there are any")
      ->check(CLI::IsMember({"measured", "predicted"}));
}

std::vector<db::TrialRow> best_of_each(const db::Store& store, const Filters& filters) {
  db::TrialFilter filter = filters.resolved();
  filter.limit = -1;
  std::map<std::int64_t, db::RunRow> runs;
  std::set<report::TuningKey> seen;
  std::vector<db::TrialRow> chosen;
  for (db::TrialRow& trial : store.best(filter)) {
    auto known = runs.find(trial.run);
    if (known == runs.end()) known = runs.emplace(trial.run, store.run(trial.run).value()).first;
    if (seen.insert(report::key_of(known->second)).second) chosen.push_back(std::move(trial));
  }
  if (chosen.empty()) throw UserError(filters.db + ": no kernel that passed matches these filters");
  return chosen;
}

db::TrialRow only_best(const db::Store& store, const Filters& filters) {
  constexpr std::size_t kMostTold = 4;
  auto chosen = best_of_each(store, filters);
  if (chosen.size() == 1) return std::move(chosen.front());
  std::string list;
  for (std::size_t i = 0; i < std::min(chosen.size(), kMostTold); ++i)
    list += fmt::format("{}trial {} ({})", i == 0 ? "" : "; ", chosen[i].id,
                        report::context_text(store.run(chosen[i].run).value()));
  if (chosen.size() > kMostTold) list += "; ...";
  throw UserError(fmt::format(
      "{} has a best kernel for each of {} problems, shapes or devices: {}. Name the trial, or say "
      "which with --run, --space, --shape or --device",
      filters.db, chosen.size(), list));
}

db::TrialFilter Filters::resolved() const {
  db::TrialFilter resolved = filter;
  if (!shape.empty()) resolved.shape_json = shape_json(shape);
  return resolved;
}

}  // namespace fa_tune::commands
