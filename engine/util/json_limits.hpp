#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/util/error.hpp"

namespace fa_tune {

// Deeper JSON ends a program that walks it by calling itself, and nlohmann's library does.
inline constexpr std::size_t kDeepestJson = 64;
// An ordered object is searched from its first member on, for each member that is read.
inline constexpr std::size_t kMostJsonMembers = 10'000;

// What keeps a JSON text of a stranger's from being read, as in "it is nested deeper than 64
// levels"; nothing if it may be. To be asked first: looks at brackets, commas and quotes alone, so
// the text need not be JSON.
std::optional<std::string> json_excess(std::string_view text);

// The JSON of a text that may be a stranger's; discarded where it is none or is refused.
template <typename Json>
Json parse_json(std::string_view text) {
  if (json_excess(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

// The same for who wants to know why: throws UserError where it is refused, what the library throws
// where it is none.
template <typename Json>
Json require_json(std::string_view text) {
  if (const auto excess = json_excess(text)) throw UserError(*excess);
  return Json::parse(text);
}

}  // namespace fa_tune
