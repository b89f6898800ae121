#include <nlohmann/json.hpp>

#include "engine/report/profile.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
Json number_or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

template <typename Number>
void read_number(const Json& json, const char* key, std::optional<Number>& to) {
  if (const Json& number = json.at(key); !number.is_null()) to = number.get<Number>();
}

Bottleneck limit_in(const std::string& text) {
  if (const auto limit = limit_of(text)) return *limit;
  throw std::invalid_argument("'" + text + "' is no limit");
}

Profile profile_of(const Json& json) {
  Profile profile;
  json.at("source").get_to(profile.source);
  json.at("version").get_to(profile.version);
  json.at("device").get_to(profile.device);
  json.at("device_name").get_to(profile.device_name);
  json.at("driver").get_to(profile.driver);
  json.at("time_kind").get_to(profile.time_kind);
  json.at("time_us").get_to(profile.time_us);
  read_number(json, "clock_us", profile.clock_us);
  profile.limit = limit_in(json.at("limit").get<std::string>());
  json.at("because").get_to(profile.because);
  for (const auto& [resource, percent] : json.at("shares").items())
    profile.shares.push_back({limit_in(resource), percent.get<double>()});
  read_number(json, "sms_active", profile.sms_active);
  read_number(json, "launch", profile.launch);
  read_number(json, "occupancy", profile.occupancy);
  read_number(json, "occupancy_possible", profile.occupancy_possible);
  json.at("occupancy_limited_by").get_to(profile.occupancy_limited_by);
  read_number(json, "registers", profile.registers);
  read_number(json, "bank_conflicts", profile.bank_conflicts);
  for (const Json& stall : json.at("stalls"))
    profile.stalls.push_back({stall.at("reason").get<std::string>(),
                              stall.at("meaning").get<std::string>(),
                              stall.at("percent").get<double>()});
  for (const auto& [name, value] : json.at("counters").items())
    profile.counters.emplace_back(name, value.get<double>());
  return profile;
}

}  // namespace

Json profile_json(const Profile& profile) {
  Json shares = Json::object();
  for (const ResourceShare& share : profile.shares) shares[to_text(share.resource)] = share.percent;
  Json stalls = Json::array();
  for (const Stall& stall : profile.stalls)
    stalls.push_back(
        {{"reason", stall.reason}, {"meaning", stall.meaning}, {"percent", stall.percent}});
  Json counters = Json::object();
  for (const auto& [name, value] : profile.counters) counters[name] = value;
  return {{"source", profile.source},
          {"version", profile.version},
          {"device", profile.device},
          {"device_name", profile.device_name},
          {"driver", profile.driver},
          {"time_kind", profile.time_kind},
          {"time_us", profile.time_us},
          {"clock_us", number_or_null(profile.clock_us)},
          {"limit", to_text(profile.limit)},
          {"because", profile.because},
          {"shares", std::move(shares)},
          {"sms_active", number_or_null(profile.sms_active)},
          {"launch", number_or_null(profile.launch)},
          {"occupancy", number_or_null(profile.occupancy)},
          {"occupancy_possible", number_or_null(profile.occupancy_possible)},
          {"occupancy_limited_by", profile.occupancy_limited_by},
          {"registers", number_or_null(profile.registers)},
          {"bank_conflicts", number_or_null(profile.bank_conflicts)},
          {"stalls", std::move(stalls)},
          {"counters", std::move(counters)}};
}

Profile read_profile(const std::string& text, const std::string& where) {
  try {
    return profile_of(Json::parse(text));
  } catch (const Json::exception& error) {
    throw UserError(where + ": is no profile as 'fa-tune profile' writes it: " + error.what());
  } catch (const std::invalid_argument& error) {
    throw UserError(where + ": is no profile as 'fa-tune profile' writes it: " + error.what());
  }
}

}  // namespace fa_tune
