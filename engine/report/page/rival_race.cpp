#include <cmath>

#include <nlohmann/json.hpp>

#include "engine/report/page/page.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOwn = "fa-tune";

double positive(const Json& json) {
  const double number = json.get<double>();
  if (!std::isfinite(number) || number <= 0)
    throw UserError("expected a time or a ratio above 0, found " + quote_text(json.dump()));
  return number;
}

RivalRace read(const Json& json) {
  RivalRace race;
  race.config = Config::from_json(json.at("configs").at(kOwn).dump());
  race.device = json.at("device").get<std::string>();
  race.software = json.at("software").get<std::string>();
  race.date = json.at("date").get<std::string>();
  race.method = json.at("method").get<std::string>();
  for (const Json& row : json.at("rows")) {
    const auto name = row.at("name").get<std::string>();
    const double us = positive(row.at("us"));
    const Json& interval = row.at("times_fa_tune_interval");
    if (name == kOwn)
      race.us = us;
    else
      race.rivals.push_back({name, us, positive(row.at("times_fa_tune")), positive(interval.at(0)),
                             positive(interval.at(1))});
  }
  if (race.us == 0) throw UserError("it has no row of the name 'fa-tune'");
  if (race.rivals.empty()) throw UserError("it has no row beside that of 'fa-tune'");
  return race;
}

}  // namespace

RivalRace read_rival_race(const std::string& text, const std::string& file) {
  const std::string what = file + ": is not what tools/bench/attention/sdpa.py or examples write: ";
  try {
    return read(require_json<Json>(text));
  } catch (const Json::exception& error) {
    throw UserError(what + printable(error.what(), kLongestReason));
  } catch (const UserError& error) {
    throw UserError(what + error.what());
  }
}

}  // namespace fa_tune::report
