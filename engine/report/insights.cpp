#include "engine/report/insights.hpp"

#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/measure/statistics.hpp"
#include "engine/measure/timing.hpp"
#include "engine/report/profile.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

struct Question {
  const char* kind;
  const char* key;  // in JSON
  const char* title;
  const char* none;
};

constexpr Question kQuestions[] = {
    {"effect", "effects", "Effects of values", "too few trials that differ little enough"},
    {"interaction", "interactions", "Values that act together", "too few squares of four trials"},
    {"failure", "failures", "Values that fail", "nothing failed"},
    {"operator", "operators", "Operators", "no trial says where it came from"},
};

// The first of these, each indented.
std::string list_of(const std::vector<std::string>& items, int limit) {
  const std::size_t shown = std::min(items.size(), static_cast<std::size_t>(limit));
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto lines = wrap_words(items[i], kPageWidth - 4);
    for (std::size_t line = 0; line < lines.size(); ++line)
      text += (line == 0 ? "  " : "    ") + lines[line] + '\n';
  }
  if (shown < items.size()) text += fmt::format("  and {} more\n", items.size() - shown);
  return text;
}

std::string question_text(const Question& question, const std::vector<db::InsightRow>& rows,
                          int limit) {
  std::vector<std::string> mine;
  std::size_t seen = 0;
  for (const db::InsightRow& each : rows)
    if (each.kind == question.kind) {
      mine.push_back(each.text);
      seen += each.seen;
    }
  const bool tested = std::string_view(question.kind) != "operator";
  std::string text = fmt::format("\n{}", question.title);
  if (mine.empty()) return text + fmt::format(": {}\n", question.none);
  text += tested ? fmt::format(": {} of {} stand out from chance\n", seen, mine.size()) : "\n";
  return text + list_of(mine, limit);
}

Profile profile_in(const db::ProfileRow& row) {
  return read_profile(row.profile_json, fmt::format("trial {}'s profile", row.trial));
}

std::string profiles_text(const std::vector<db::ProfileRow>& profiles, int limit) {
  const auto lines = profile_lines(profiles);
  if (lines.empty())
    return "\nWhat limits trials: none was profiled; 'fa-tune profile TRIAL' does it\n";
  return "\nWhat limits trials that were profiled\n" + list_of(lines, limit);
}

Json json_of(const db::ProfileRow& row) {
  return {{"trial", row.trial},
          {"source", row.source},
          {"device", row.device},
          {"time_kind", row.time_kind},
          {"time_us", row.time_us},
          {"limit", row.limited_by},
          {"because", profile_in(row).because},
          {"at", row.at}};
}

}  // namespace

std::vector<std::string> profile_lines(const std::vector<db::ProfileRow>& profiles) {
  std::vector<std::string> lines;
  for (const char* const kind : {"measured", "predicted"})
    for (const db::ProfileRow& row : profiles) {
      if (row.time_kind != kind) continue;
      const Profile profile = profile_in(row);
      lines.push_back(fmt::format(
          "trial {}, {} us {}: {} ({})", row.trial, time_text(row.time_us), row.time_kind,
          limit_words(profile),
          row.source == "emulator" ? "emulator:" + row.version : row.source + " on " + row.device));
    }
  return lines;
}

search::Insights insights_of(const db::Store& store, std::int64_t run) {
  const auto trials = store.trials(run);
  std::vector<std::optional<double>> screened;
  std::vector<double> clocks;
  for (const db::TrialRow& trial : trials) {
    const bool timed = trial.outcome == Outcome::passed && trial.screen_time;
    screened.push_back(timed ? std::optional(trial.screen_time->us.value) : std::nullopt);
    const double mhz = screened.back() ? measure::mhz_of(*screened.back(), trial.detail_json) : 0;
    if (mhz > 0) clocks.push_back(mhz);
  }
  // Any would do for their ratios, and this one leaves nearly as they are those whose own nobody
  // knows.
  const double mhz = clocks.empty() ? 0 : measure::median(clocks);
  std::map<std::int64_t, std::uint64_t> numbers;
  std::map<std::int64_t, std::optional<double>> screens;
  search::Insights insights;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const db::TrialRow& trial = trials[i];
    const auto number = static_cast<std::uint64_t>(trial.number);
    numbers[trial.id] = number;
    std::optional<double>& us = screens[trial.id];
    if (screened[i]) us = measure::us_at_clock(*screened[i], trial.detail_json, mhz);
    if (trial.outcome == Outcome::duplicate)
      if (const auto original = screens.find(trial.duplicate_of); original != screens.end())
        us = original->second;
    search::TrialOrigin origin{
        trial.operation, {}, trial.stage, trial.outcome == Outcome::duplicate};
    for (const db::ParentRow& parent : store.parents(trial.id))
      if (const auto known = numbers.find(parent.parent); known != numbers.end())
        origin.parents.push_back(known->second);
    const double cost_s = (trial.compile_ms + trial.gate_ms + trial.measure_ms) / 1000;
    insights.tell({number, Config::from_json(trial.config_json), us.has_value(), us, cost_s},
                  origin);
  }
  return insights;
}

std::string insights_text(const db::RunRow& run, const search::Insights& insights,
                          const std::vector<db::ProfileRow>& profiles, int limit) {
  const std::string title = fmt::format("Insights of run {}, {} trials, {} passed. {}", run.id,
                                        insights.trials(), insights.passed(), context_text(run));
  std::string text = paragraph(title);
  const auto rows = insight_rows(insights, run.time_kind);
  for (const Question& question : kQuestions) text += question_text(question, rows, limit);
  return text + profiles_text(profiles, limit);
}

std::string insights_json(const db::RunRow& run, const search::Insights& insights,
                          const std::vector<db::ProfileRow>& profiles) {
  Json json = {{"run", run.id},
               {"time_kind", run.time_kind},
               {"trials", insights.trials()},
               {"passed", insights.passed()}};
  const auto rows = insight_rows(insights, run.time_kind);
  for (const Question& question : kQuestions) {
    json[question.key] = Json::array();
    for (const db::InsightRow& each : rows)
      if (each.kind == question.kind) json[question.key].push_back(Json::parse(each.insight_json));
  }
  json["profiles"] = Json::array();
  for (const db::ProfileRow& row : profiles) json["profiles"].push_back(json_of(row));
  return json.dump(2) + '\n';
}

}  // namespace fa_tune::report
