#include "engine/report/best.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

std::string csv_number(std::optional<double> number) {
  return number ? fmt::format("{}", *number) : "";
}

std::string stage_text(const TrialOfRun& both) {
  const bool tied = both.raced && !both.raced->tied_with.empty();
  return both.trial.stage + (tied ? ", tied" : "");
}

}  // namespace

std::vector<TrialOfRun> stable_pick(const std::vector<TrialOfRun>& trials) {
  if (trials.empty()) return {};
  const TrialOfRun& first = trials.front();
  const auto ties = [&](const TrialOfRun& other) {
    if (first.raced) return other.raced && other.raced->row.tied_first;
    return shown_us(other.trial) == shown_us(first.trial);
  };
  const auto by_cost = [](const TrialOfRun* each) { return frugality(each->trial); };
  std::vector<const TrialOfRun*> tied;
  for (const TrialOfRun& trial : trials)
    if (ties(trial)) tied.push_back(&trial);
  return {**std::ranges::min_element(tied, {}, by_cost)};
}

std::vector<TrialOfRun> best_trials(const db::Store& store, const db::TrialFilter& filter) {
  std::vector<TrialOfRun> trials;
  struct Known {
    db::RunRow run;
    std::optional<PredictedTies> ties;  // of the first of its trials
    std::map<std::int64_t, RacedFinal> finals;
    std::optional<db::PlainKernelRow> plain;
  };
  std::map<std::int64_t, Known> runs;
  for (const db::TrialRow& trial : store.best(filter)) {
    auto known = runs.find(trial.run);
    const bool first = known == runs.end();
    if (first) {
      db::RunRow run = store.run(trial.run).value();
      auto ties = run.time_kind == "predicted" ? predicted_ties(trial, store.trials(trial.run))
                                               : std::nullopt;
      known = runs.emplace(trial.run,
                           Known{std::move(run), std::move(ties), raced_finals(store, trial.run),
                                 store.plain_kernel(trial.run)})
                  .first;
    }
    trials.push_back({trial, known->second.run, {}, known->second.plain, {}});
    if (first) trials.back().ties = known->second.ties;
    const auto& finals = known->second.finals;
    if (const auto found = finals.find(trial.id); found != finals.end())
      trials.back().raced = found->second;
  }
  return trials;
}

std::string best_table(const std::vector<TrialOfRun>& trials) {
  if (trials.empty()) return "No trial that passed, with a time, matches.\n";
  std::vector<std::pair<std::string, Table>> tables;
  for (const TrialOfRun& both : trials) {
    const auto& [trial, run, raced, plain, ties] = both;
    const std::string context = context_text(run);
    auto table = tables.begin();
    while (table != tables.end() && table->first != context) ++table;
    if (table == tables.end()) {
      tables.emplace_back(context, Table({{"trial", Align::right},
                                          {"run", Align::right},
                                          {run.time_kind + " us", Align::right},
                                          {"interval", Align::right},
                                          {"stage"},
                                          {"registers", Align::right},
                                          {"spilled", Align::right},
                                          {"config", Align::wrap}}));
      table = tables.end() - 1;
    }
    table->second.add({std::to_string(trial.id), std::to_string(run.id), time_text(shown_us(trial)),
                       interval_text(*shown_time(trial)), stage_text(both),
                       count_text(trial.registers), count_text(trial.spill_bytes),
                       settings_text(trial.config_json)});
  }
  std::string text;
  for (const auto& [context, table] : tables) {
    if (!text.empty()) text += '\n';
    text += paragraph(context) + table.text();
  }
  std::map<std::string, std::vector<std::int64_t>> open;
  for (const TrialOfRun& both : trials)
    if (const std::string what = left_open(both.trial); !what.empty())
      open[what].push_back(both.trial.id);
  for (const auto& [what, ids] : open)
    text += paragraph(
        fmt::format("trial{} {}: {}", ids.size() == 1 ? "" : "s", fmt::join(ids, ", "), what));
  std::map<std::string, std::vector<std::int64_t>> bases;
  for (const TrialOfRun& both : trials)
    if (const std::string words = interval_rests_on(both.trial); !words.empty())
      bases[words].push_back(both.trial.id);
  for (const auto& [words, ids] : bases)
    text += paragraph(bases.size() == 1 ? words
                                        : fmt::format("trial{} {}: {}", ids.size() == 1 ? "" : "s",
                                                      fmt::join(ids, ", "), words));
  for (const TrialOfRun& both : trials)
    if (both.ties)
      text += paragraph(fmt::format("trial {}: {}", both.trial.id, ties_text(*both.ties)));
  std::set<std::int64_t> told;
  for (const auto& [trial, run, raced, plain, ties] : trials)
    if (plain && told.insert(run.id).second)
      text += paragraph(
          fmt::format("trial {}: {}", trial.id, beside_plain(trial, *plain, run.time_kind)));
  return text;
}

std::string best_json(const std::vector<TrialOfRun>& trials) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& [trial, run, raced, plain, ties] : trials) {
    auto time = interval_json(*shown_time(trial));
    time["kind"] = run.time_kind;
    array.push_back({{"trial", trial.id},
                     {"space", run.space},
                     {"device", run.device},
                     {"arch", run.arch},
                     {"config", nlohmann::ordered_json::parse(trial.config_json)},
                     {"time_us", time},
                     {"verdict", to_text(trial.outcome)},
                     {"source_hash", trial.source_hash},
                     {"run", run.id},
                     {"seed", run.seed},
                     {"final", raced ? final_json(*raced) : nlohmann::ordered_json()},
                     {"plain_us", plain && plain->time ? interval_json(plain->time->us)
                                                       : nlohmann::ordered_json()},
                     {"prediction", prediction_json(trial, ties)}});
  }
  return array.dump(2) + "\n";
}

std::string best_csv(const std::vector<TrialOfRun>& trials) {
  std::string text =
      "trial,space,device,arch,config,time_us_median,time_us_low,time_us_high,time_kind,verdict,"
      "source_hash,run,seed\n";
  for (const auto& [trial, run, raced, plain, ties] : trials) {
    std::string row;
    const Interval us = *shown_time(trial);
    for (const std::string& field :
         {std::to_string(trial.id), run.space, run.device, run.arch, trial.config_json,
          csv_number(us.value), csv_number(known_end(us.low)), csv_number(known_end(us.high)),
          run.time_kind, to_text(trial.outcome), trial.source_hash, std::to_string(run.id),
          std::to_string(run.seed)}) {
      if (!row.empty()) row += ',';
      row += csv_field(field);
    }
    text += row + '\n';
  }
  return text;
}

}  // namespace fa_tune::report
