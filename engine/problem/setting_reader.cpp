#include "engine/problem/setting_reader.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/util/error.hpp"

namespace fa_tune::problem {

SettingReader::SettingReader(const std::vector<std::pair<std::string, Value>>& settings,
                             std::string where, std::string kind)
    : where_(std::move(where) + std::move(kind) + ": ") {
  for (const auto& [name, value] : settings)
    if (!settings_.emplace(name, value).second) fail("'" + name + "' is given twice");
}

void SettingReader::fail(const std::string& what) const { throw UserError(where_ + what); }

std::optional<std::int64_t> SettingReader::integer(const std::string& name, std::int64_t least,
                                                   std::int64_t most) {
  const Value* value = take(name);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr || *number < least || *number > most)
    fail(fmt::format("'{}' is {}: expected an integer from {} to {}", name,
                     fa_tune::to_text(*value), least, most));
  return *number;
}

std::int64_t SettingReader::required_integer(const std::string& name, std::int64_t least,
                                             std::int64_t most) {
  const auto value = integer(name, least, most);
  if (!value)
    fail(fmt::format("'{}' is missing: give an integer from {} to {}", name, least, most));
  return *value;
}

double SettingReader::number(const std::string& name, double least, double otherwise) {
  const Value* value = take(name);
  if (value == nullptr) return otherwise;
  const auto* whole = std::get_if<std::int64_t>(value);
  const auto* real = std::get_if<double>(value);
  const double number = whole != nullptr  ? static_cast<double>(*whole)
                        : real != nullptr ? *real
                                          : least - 1;
  if (number < least)
    fail(fmt::format("'{}' is {}: expected a number of at least {}", name, fa_tune::to_text(*value),
                     least));
  return number;
}

bool SettingReader::flag(const std::string& name, bool otherwise) {
  const Value* value = take(name);
  if (value == nullptr) return otherwise;
  const auto* held = std::get_if<bool>(value);
  if (held == nullptr)
    fail("'" + name + "' is " + fa_tune::to_text(*value) + ": expected true or false");
  return *held;
}

std::string SettingReader::choice(const std::string& name,
                                  const std::vector<std::string>& choices) {
  const Value* value = take(name);
  if (value == nullptr) return choices.front();
  const std::string text = fa_tune::to_text(*value);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  std::string known = choices.front();
  for (std::size_t i = 1; i < choices.size(); ++i) known += " or " + choices[i];
  fail("'" + name + "' is " + text + ": expected " + known);
}

void SettingReader::expect_all_taken() const {
  for (const auto& [name, value] : settings_) {
    if (asked_.contains(name)) continue;
    std::string known;
    for (const std::string& each : asked_) known += (known.empty() ? "" : ", ") + each;
    fail("unknown setting '" + name + "': the known ones are " + known);
  }
}

const Value* SettingReader::take(const std::string& name) {
  asked_.insert(name);
  const auto found = settings_.find(name);
  return found == settings_.end() ? nullptr : &found->second;
}

}  // namespace fa_tune::problem
