#include "engine/search/strategy_spec.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/util/error.hpp"

namespace fa_tune::search {

StrategySpec StrategySpec::parse(const std::string& text) {
  StrategySpec spec;
  const auto colon = text.find(':');
  spec.name_ = text.substr(0, colon);
  std::size_t at = colon == std::string::npos ? text.size() : colon + 1;
  if (colon != std::string::npos && at == text.size())
    throw UserError(fmt::format("strategy '{}': expected option=value after the colon", text));
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      throw UserError(
          fmt::format("strategy '{}': expected option=value, not '{}'", spec.name_, part));
    if (!spec.options_.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      throw UserError(fmt::format("strategy '{}': option '{}' is given twice", spec.name_,
                                  part.substr(0, equals)));
    at = end + 1;
  }
  return spec;
}

std::string StrategySpec::choose(const std::string& option, const std::vector<std::string>& known) {
  asked_.push_back(option);
  const auto found = options_.find(option);
  if (found == options_.end()) return known.front();
  if (std::ranges::find(known, found->second) == known.end())
    throw UserError(fmt::format("strategy '{}': {} is one of {}, not '{}'", name_, option,
                                fmt::join(known, ", "), found->second));
  return found->second;
}

std::optional<std::string> StrategySpec::text(const std::string& option) {
  asked_.push_back(option);
  const auto found = options_.find(option);
  return found == options_.end() ? std::nullopt : std::optional(found->second);
}

int StrategySpec::integer(const std::string& option, int fallback, int low, int high) {
  asked_.push_back(option);
  const auto found = options_.find(option);
  if (found == options_.end()) return fallback;
  int value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < low || value > high)
    throw UserError(fmt::format("strategy '{}': {} is a whole number from {} to {}, not '{}'",
                                name_, option, low, high, found->second));
  return value;
}

void StrategySpec::require_no_others() const {
  for (const auto& [option, value] : options_) {
    if (std::ranges::find(asked_, option) != asked_.end()) continue;
    const std::string known =
        asked_.empty() ? "it has none" : fmt::format("it has {}", fmt::join(asked_, ", "));
    throw UserError(fmt::format("strategy '{}' has no option '{}', {}", name_, option, known));
  }
}

}  // namespace fa_tune::search
