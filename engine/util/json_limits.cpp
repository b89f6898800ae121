#include "engine/util/json_limits.hpp"

#include <vector>

namespace fa_tune {

std::optional<std::string> json_excess(std::string_view text) {
  std::vector<std::size_t> commas;  // of each bracket that is open
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\')
        ++at;
      else
        quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (commas.size() == kDeepestJson)
        return "it is nested deeper than " + std::to_string(kDeepestJson) + " levels";
      // A list may be as long as it likes.
      commas.push_back(c == '{' ? 0 : text.npos);
    } else if ((c == '}' || c == ']') && !commas.empty()) {
      commas.pop_back();
    } else if (c == ',' && !commas.empty() && commas.back() != text.npos) {
      if (++commas.back() == kMostJsonMembers)
        return "an object of it has more than " + std::to_string(kMostJsonMembers) + " members";
    }
  }
  return std::nullopt;
}

}  // namespace fa_tune
