#pragma once

#include <optional>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "engine/model/interval.hpp"
#include "engine/yaml/value.hpp"

// How reports write as JSON what nlohmann's library does not know; what is missing is null.
namespace nlohmann {

template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& json, const std::optional<T>& value) {
    json = value ? ordered_json(*value) : ordered_json();
  }
  static void from_json(const ordered_json& json, std::optional<T>& value) {
    value = json.is_null() ? std::nullopt : std::optional(json.get<T>());
  }
};

template <>
struct adl_serializer<fa_tune::Interval> {
  static void to_json(ordered_json& json, const fa_tune::Interval& interval) {
    json = {{"median", interval.value},
            {"low", fa_tune::known_end(interval.low)},
            {"high", fa_tune::known_end(interval.high)}};
  }
  static void from_json(const ordered_json& json, fa_tune::Interval& interval) {
    interval = {json.at("median").get<double>()};
    if (!json.at("low").is_null()) json.at("low").get_to(interval.low);
    if (!json.at("high").is_null()) json.at("high").get_to(interval.high);
  }
};

template <>
struct adl_serializer<fa_tune::Value> {
  static void to_json(ordered_json& json, const fa_tune::Value& value) {
    std::visit([&](const auto& held) { json = held; }, value);
  }
  // Config knows how one is read.
  static void from_json(const ordered_json& json, fa_tune::Value& value) {
    value = *fa_tune::Config::from_json(ordered_json{{"value", json}}.dump()).find("value");
  }
};

template <>
struct adl_serializer<fa_tune::Config> {
  static void to_json(ordered_json& json, const fa_tune::Config& config) {
    json = ordered_json::parse(config.to_json());
  }
  static void from_json(const ordered_json& json, fa_tune::Config& config) {
    config = fa_tune::Config::from_json(json.dump());
  }
};

}  // namespace nlohmann

namespace fa_tune::report {

// A word that may be missing, which is empty here.
inline nlohmann::ordered_json word_json(const std::string& word) {
  return word.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(word);
}
inline std::string word_of(const nlohmann::ordered_json& json) {
  return json.is_null() ? "" : json.get<std::string>();
}

}  // namespace fa_tune::report
