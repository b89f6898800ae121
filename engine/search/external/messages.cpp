#include "engine/search/external/messages.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace fa_tune::search {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& value) { return Json::parse(to_json(value)); }
Json json_of(const Config& config) { return Json::parse(config.to_json()); }

// A line whose text came from people (a space's names, a compiler's message) and need not be UTF-8.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json space_json(const space::Space& space) {
  const space::SpaceParts& parts = space.parts();
  Json json = {{"name", parts.name}, {"hash", space.hash()}, {"count", space.count()}};
  json["parameters"] = Json::array();
  for (const space::Parameter& parameter : parts.parameters) {
    Json each = {{"name", parameter.name}, {"values", Json::array()}};
    for (const Value& value : parameter.values) each["values"].push_back(json_of(value));
    if (parameter.when) each["when"] = parameter.when->text();
    json["parameters"].push_back(std::move(each));
  }
  json["derived"] = Json::array();
  for (const space::Derived& derived : parts.derived) {
    Json each = {{"name", derived.name}, {"expression", derived.expression.text()}};
    if (!derived.only_for.empty()) each["only_for"] = derived.only_for;
    json["derived"].push_back(std::move(each));
  }
  json["constraints"] = Json::array();
  for (const space::Constraint& constraint : parts.constraints) {
    Json each = {{"expression", constraint.expression.text()}};
    if (!constraint.only_for.empty()) each["only_for"] = constraint.only_for;
    if (!constraint.because.empty()) each["because"] = constraint.because;
    json["constraints"].push_back(std::move(each));
  }
  json["constants"] = Json::parse(to_json(parts.constants));
  json["presets"] = Json::array();
  for (const space::Preset& preset : parts.presets)
    json["presets"].push_back({{"name", preset.name}, {"genome", json_of(preset.config)}});
  return json;
}

Json time_json(std::optional<double> us) { return us ? Json(*us) : Json(); }

Json elite_json(const TrialReport& report) {
  return {{"trial", report.number},
          {"genome", json_of(report.config)},
          {"time", time_json(report.time_us)}};
}

}  // namespace

std::string hello_line(const space::Space& space, const ProposerBriefing& briefing) {
  return line_of({{"type", "hello"},
                  {"v", kProposerProtocol},
                  {"space", space_json(space)},
                  {"device", Json::parse(briefing.device_json)},
                  {"objective", Json::parse(briefing.objective_json)},
                  {"seed", briefing.seed},
                  {"budget", Json::parse(briefing.budget_json)}});
}

std::string ask_line(const AskMessage& ask) {
  Json elites = Json::array();
  for (const TrialReport* elite : ask.elites) elites.push_back(elite_json(*elite));
  return line_of({{"type", "ask"},
                  {"id", ask.id},
                  {"n", ask.n},
                  {"remaining", Json::parse(ask.remaining_json)},
                  {"best", elites.empty() ? Json() : elites.front()},
                  {"elites", elites}});
}

std::string tell_line(const TrialReport& report, const std::optional<ItemPlace>& place) {
  Json metrics = Json::object();
  for (const auto& [name, figure] : report.metrics)
    if (std::isfinite(figure)) metrics[name] = figure;
  Json interval;
  if (report.low_us && report.high_us) interval = {*report.low_us, *report.high_us};
  return line_of({{"type", "tell"},
                  {"trial", report.number},
                  {"id", place ? Json(place->id) : Json()},
                  {"idx", place ? Json(place->idx) : Json()},
                  {"genome", json_of(report.config)},
                  {"status", to_text(report.status)},
                  {"time", time_json(report.time_us)},
                  {"interval", interval},
                  {"stage", report.stage},
                  {"finding", report.finding},
                  {"metrics", metrics},
                  {"message", report.message}});
}

std::string refused_line(int id, std::optional<int> idx, const std::string& reason) {
  return line_of(
      {{"type", "refused"}, {"id", id}, {"idx", idx ? Json(*idx) : Json()}, {"reason", reason}});
}

std::string bye_line(const std::string& reason) {
  return line_of({{"type", "bye"}, {"reason", reason}});
}

}  // namespace fa_tune::search
