#include "tools/commands/replay_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/table.hpp"

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;

// Of one tuner, in the order of the tables.
struct Tuner {
  std::string name;
  std::vector<ReplaySummary> tables;
};

std::vector<Tuner> by_tuner(const std::vector<ReplaySummary>& summaries) {
  std::vector<Tuner> tuners;
  for (const ReplaySummary& summary : summaries) {
    auto found = std::ranges::find(tuners, summary.tuner, &Tuner::name);
    if (found == tuners.end()) found = tuners.insert(found, {summary.tuner, {}});
    found->tables.push_back(summary);
  }
  return tuners;
}

std::vector<double> pooled(const Tuner& tuner, std::size_t nearness) {
  std::vector<double> all;
  for (const ReplaySummary& summary : tuner.tables)
    all.insert(all.end(), summary.evaluations_to[nearness].begin(),
               summary.evaluations_to[nearness].end());
  return all;
}

std::string evaluations_text(const std::optional<double>& evaluations) {
  return evaluations ? fmt::format("{:.0f}", *evaluations) : "-";
}

std::string evaluations_cell(const EvaluationsTo& to) {
  return fmt::format("{} ({}..{})", evaluations_text(to.median), evaluations_text(to.low),
                     evaluations_text(to.high));
}

std::string score_cell(const Interval& score) {
  return fmt::format("{:.3f} ({:.3f}..{:.3f})", score.value, score.low, score.high);
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json mean_json(const Interval& estimate) {
  return {{"mean", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

void add_evaluations(Json& json, const std::vector<std::vector<double>>& samples) {
  Json medians = Json::object();
  Json intervals = Json::object();
  for (std::size_t i = 0; i < nearness_percent.size(); ++i) {
    const EvaluationsTo to = median_evaluations(samples[i]);
    const std::string name = std::to_string(nearness_percent[i]);
    medians[name] = number_or_null(to.median);
    intervals[name] = {{"low", number_or_null(to.low)},
                       {"high", number_or_null(to.high)},
                       {"reached", to.reached},
                       {"runs", samples[i].size()}};
  }
  json["evaluations_to"] = std::move(medians);
  json["evaluations_to_interval"] = std::move(intervals);
}

Json summary_json(const ReplaySummary& summary) {
  Json json = {
      {"table", summary.table},
      {"runs", summary.runs},
      {"optimum_ms", summary.optimum_ms},
      {"budget",
       {{"evaluations", summary.budget_evaluations}, {"seconds", summary.budget_ms / 1000}}},
      {"score", mean_json(summary.score)}};
  add_evaluations(json, {summary.evaluations_to.begin(), summary.evaluations_to.end()});
  Json after = Json::object();
  for (std::size_t i = 0; i < fixed_budgets.size(); ++i)
    after[std::to_string(fixed_budgets[i])] = mean_json(summary.after[i]);
  json["optimum_over_best_after"] = std::move(after);
  return json;
}

Json tuner_json(const Tuner& tuner) {
  Json json = {{"tuner", tuner.name}, {"score", mean_json(mean_score(tuner.tables))}};
  std::vector<std::vector<double>> samples;
  for (std::size_t i = 0; i < nearness_percent.size(); ++i) samples.push_back(pooled(tuner, i));
  add_evaluations(json, samples);
  json["tables"] = Json::array();
  for (const ReplaySummary& summary : tuner.tables) json["tables"].push_back(summary_json(summary));
  return json;
}

std::vector<std::string> cells(const std::string& tuner, const std::string& table,
                               const Interval& score, const Tuner& rows) {
  std::vector<std::string> result = {tuner, table, score_cell(score)};
  for (std::size_t i = 0; i < nearness_percent.size(); ++i)
    result.push_back(evaluations_cell(median_evaluations(pooled(rows, i))));
  for (std::size_t i = 0; i < fixed_budgets.size(); ++i) {
    double mean = 0;
    for (const ReplaySummary& summary : rows.tables)
      mean += summary.after[i].value / static_cast<double>(rows.tables.size());
    result.push_back(fmt::format("{:.1f}%", 100 * mean));
  }
  return result;
}

}  // namespace

std::string replay_table(const std::vector<ReplaySummary>& summaries) {
  std::vector<TableColumn> columns = {{"tuner"}, {"table"}, {"score", Align::right}};
  for (const int percent : nearness_percent)
    columns.push_back({fmt::format("to {}%", percent), Align::right});
  for (const std::size_t evaluations : fixed_budgets)
    columns.push_back({fmt::format("after {}", evaluations), Align::right});
  Table table(std::move(columns));
  for (const Tuner& tuner : by_tuner(summaries)) {
    for (const ReplaySummary& summary : tuner.tables)
      table.add(cells(tuner.name, summary.table, summary.score, {tuner.name, {summary}}));
    if (tuner.tables.size() > 1)
      table.add(cells(tuner.name, "all", mean_score(tuner.tables), tuner));
  }
  std::string text = table.text(200);
  std::vector<std::string> told;
  for (const ReplaySummary& summary : summaries) {
    if (std::ranges::find(told, summary.table) != told.end()) continue;
    told.push_back(summary.table);
    text += fmt::format("{}: optimum {:.6g} ms, budget {} evaluations or {:.1f} s\n", summary.table,
                        summary.optimum_ms, summary.budget_evaluations, summary.budget_ms / 1000);
  }
  return text +
         "to x%: median evaluations until within x% of the optimum (95% interval; - where half of\n"
         "the runs or more did not come there). after n: the optimum over the best after n\n"
         "evaluations, mean of the runs.\n";
}

std::string replay_json(const std::vector<ReplaySummary>& summaries) {
  Json tuners = Json::array();
  for (const Tuner& tuner : by_tuner(summaries)) tuners.push_back(tuner_json(tuner));
  Json json = Json::object();
  for (const char* name : {"score", "evaluations_to", "evaluations_to_interval"})
    json[name] = tuners.at(0).at(name);
  json["tuners"] = std::move(tuners);
  return json.dump(2) + "\n";
}

}  // namespace fa_tune
