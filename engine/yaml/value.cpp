#include "engine/yaml/value.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune {
namespace {

std::string quote(const std::string& text) { return "'" + printable(text, kLongestQuote) + "'"; }

std::string real_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return real_text(*number);
  return std::get<std::string>(value);
}

std::string to_json(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return nlohmann::json(*text).dump();
  return to_text(value);
}

std::string to_json(const Constants& constants) {
  std::string text = "{";
  for (const auto& [name, value] : constants) {
    if (text.size() > 1) text += ",";
    text += nlohmann::json(name).dump() + ":" + to_json(value);
  }
  return text + "}";
}

std::int64_t integer(const Constants& constants, const std::string& name) {
  const Value& value = constants.at(name);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return std::get<std::int64_t>(value);
}

const Value* Config::find(const std::string& name) const {
  for (const auto& [key, value] : settings_)
    if (key == name) return &value;
  return nullptr;
}

void Config::set(const std::string& name, Value value) {
  for (auto& [key, held] : settings_) {
    if (key == name) {
      held = std::move(value);
      return;
    }
  }
  settings_.emplace_back(name, std::move(value));
}

std::string Config::to_json() const {
  std::string text = "{";
  for (const auto& [name, value] : settings_) {
    if (text.size() > 1) text += ",";
    text += nlohmann::json(name).dump() + ":" + fa_tune::to_json(value);
  }
  return text + "}";
}

Config Config::from_json(const std::string& text) {
  const auto object = parse_json<nlohmann::ordered_json>(text);
  if (!object.is_object()) throw UserError("config " + quote(text) + ": expected a JSON object");
  Config config;
  for (const auto& [name, value] : object.items()) {
    if (value.is_boolean())
      config.set(name, value.get<bool>());
    else if (value.is_number_integer())
      config.set(name, value.get<std::int64_t>());
    else if (value.is_number_float())
      config.set(name, value.get<double>());
    else if (value.is_string())
      config.set(name, value.get<std::string>());
    else
      throw UserError("config " + quote(text) + ": " + quote(name) +
                      " must be a number, boolean or string");
  }
  return config;
}

}  // namespace fa_tune
