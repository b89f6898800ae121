#include "engine/report/text_format.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fa_tune::report {
namespace {

std::string value_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string settings_text(const std::string& json) {
  const auto object = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!object.is_object()) return json;
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (!text.empty()) text += ' ';
    text += name == "template" ? value_text(value) : name + "=" + value_text(value);
  }
  return text.empty() ? "-" : text;
}

std::string genes_text(const std::string& json) {
  const auto object = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!object.is_object()) return json;
  std::string text;
  for (const auto& [name, change] : object.items()) {
    if (!change.is_array() || change.size() != 2) return json;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {} -> {}", name, value_text(change[0]), value_text(change[1]));
  }
  return text.empty() ? "-" : text;
}

std::string time_text(std::optional<double> us) {
  if (!us) return "-";
  return *us < 1 ? fmt::format("{:.4f}", *us) : fmt::format("{:.2f}", *us);
}

std::string interval_text(const Interval& us) {
  if (!known_end(us.low) || !known_end(us.high)) return "-";
  return time_text(us.low) + " .. " + time_text(us.high);
}

nlohmann::ordered_json interval_json(const Interval& interval) {
  const auto number = [](std::optional<double> end) {
    return end ? nlohmann::ordered_json(*end) : nlohmann::ordered_json();
  };
  return {{"median", interval.value},
          {"low", number(known_end(interval.low))},
          {"high", number(known_end(interval.high))}};
}

std::string count_text(int count) { return count < 0 ? "-" : std::to_string(count); }

std::string gain_text(std::optional<double> parent_us, std::optional<double> us) {
  if (!parent_us || !us) return "-";
  return fmt::format("{:+.1f}%", 100 * (1 - *us / *parent_us));
}

std::string rate_text(int trials, double seconds) {
  constexpr double kFew = 0.1;
  const double rate = trials / seconds;
  return rate >= kFew ? fmt::format("{:.1f}/s", rate) : format_seconds(seconds / trials) + " each";
}

std::string format_seconds(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::lround(std::max(0.0, seconds)));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
}

}  // namespace fa_tune::report
