#include <nlohmann/json.hpp>

#include "engine/report/ablation.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<double>& number) { return number ? Json(*number) : Json(); }
Json json_of(const std::optional<Value>& value) {
  return value ? Json::parse(to_json(*value)) : Json();
}
Json json_of(const Config& config) { return Json::parse(config.to_json()); }
Json json_of(const std::string& word) { return word.empty() ? Json() : Json(word); }

Json json_of(const std::optional<Interval>& ratio) {
  return ratio ? interval_json(*ratio) : Json();
}

Json json_of(const std::vector<GeneChange>& changes) {
  Json array = Json::array();
  for (const GeneChange& change : changes)
    array.push_back(
        {{"gene", change.gene}, {"from", json_of(change.from)}, {"to", json_of(change.to)}});
  return array;
}

Json json_of(const AblationRow& row) {
  return {{"kind", to_text(row.kind)},
          {"wanted", json_of(row.wanted)},
          {"also", json_of(row.also)},
          {"because", json_of(row.because)},
          {"config", row.config ? json_of(*row.config) : Json()},
          {"outcome", row.outcome},
          {"finding", json_of(row.rejection.finding)},
          {"message", json_of(row.rejection.message)},
          {"time_us", json_of(row.time_us)},
          {"ratio", json_of(row.ratio)},
          {"verdict", json_of(row.verdict)},
          {"blocks", row.blocks},
          {"product", json_of(row.product)},
          {"interaction", json_of(row.interaction)}};
}

std::optional<double> number(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

std::string word(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

std::optional<Interval> ratio(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Interval ratio{json.at("median").get<double>()};
  ratio.low = number(json.at("low")).value_or(ratio.low);
  ratio.high = number(json.at("high")).value_or(ratio.high);
  return ratio;
}

// Config knows how a value is read.
std::optional<Value> value(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return *Config::from_json(Json{{"value", json}}.dump()).find("value");
}

std::vector<GeneChange> changes(const Json& json) {
  std::vector<GeneChange> list;
  for (const Json& each : json)
    list.push_back(
        {each.at("gene").get<std::string>(), value(each.at("from")), value(each.at("to"))});
  return list;
}

AblationKind kind(const std::string& text) {
  for (const AblationKind each : {AblationKind::baseline, AblationKind::back, AblationKind::pair,
                                  AblationKind::other, AblationKind::forward})
    if (to_text(each) == text) return each;
  throw UserError("'" + text + "' is no kind of row");
}

// Older files have other words for two of them.
std::string outcome(const std::string& word) {
  if (word == "right") return "passed";
  return word == "refused" ? "failed" : word;
}

AblationRow row(const Json& json) {
  AblationRow row;
  row.kind = kind(json.at("kind").get<std::string>());
  row.wanted = changes(json.at("wanted"));
  row.also = changes(json.at("also"));
  row.because = word(json.at("because"));
  if (!json.at("config").is_null()) row.config = Config::from_json(json.at("config").dump());
  row.outcome = outcome(json.at("outcome").get<std::string>());
  row.rejection.finding = word(json.at("finding"));
  row.rejection.message = word(json.at("message"));
  row.time_us = number(json.at("time_us"));
  row.ratio = ratio(json.at("ratio"));
  row.verdict = word(json.at("verdict"));
  row.blocks = json.at("blocks").get<int>();
  row.product = ratio(json.at("product"));
  row.interaction = word(json.at("interaction"));
  return row;
}

}  // namespace

std::string ablation_json(const Ablation& ablation, const RunRow& run) {
  Json json{{"trial", ablation.trial},
            {"run", run.id},
            {"space", run.space},
            {"shape", Json::parse(run.shape_json)},
            {"device", ablation.device_name},
            {"time_kind", ablation.time_kind},
            {"seed", ablation.seed},
            {"baseline", ablation.baseline},
            {"trial_config", json_of(ablation.trial_config)},
            {"baseline_config", json_of(ablation.baseline_config)},
            {"time_us", ablation.time_us},
            {"rows", Json::array()}};
  for (const AblationRow& each : ablation.rows) json["rows"].push_back(json_of(each));
  return json.dump(2) + '\n';
}

Ablation read_ablation(const std::string& text, const std::string& file) {
  try {
    const Json json = Json::parse(text);
    Ablation ablation;
    ablation.trial = json.at("trial").get<std::int64_t>();
    ablation.device_name = json.at("device").get<std::string>();
    ablation.time_kind = json.at("time_kind").get<std::string>();
    ablation.seed = json.at("seed").get<std::uint64_t>();
    ablation.baseline = json.at("baseline").get<std::string>();
    ablation.trial_config = Config::from_json(json.at("trial_config").dump());
    ablation.baseline_config = Config::from_json(json.at("baseline_config").dump());
    ablation.time_us = json.at("time_us").get<double>();
    for (const Json& each : json.at("rows")) ablation.rows.push_back(row(each));
    return ablation;
  } catch (const Json::exception& error) {
    throw UserError(file + ": is not what 'fa-tune ablate --format json' writes: " + error.what());
  } catch (const UserError& error) {
    throw UserError(file + ": is not what 'fa-tune ablate --format json' writes: " + error.what());
  }
}

}  // namespace fa_tune
