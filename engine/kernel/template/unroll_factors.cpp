#include "engine/kernel/template/unroll_factors.hpp"

#include <algorithm>
#include <string_view>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune {
namespace {

constexpr std::string_view kUnroll = "unroll";

std::string_view without_blanks_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Whether `before` ends with a line's "  #  pragma ". Backwards: a text of one long line costs no
// more than another.
bool ends_with_pragma(std::string_view before) {
  constexpr std::string_view kPragma = "pragma";
  std::string_view left = without_blanks_behind(before);
  if (left.size() == before.size() || !left.ends_with(kPragma)) return false;
  left.remove_suffix(kPragma.size());
  left = without_blanks_behind(left);
  if (!left.ends_with('#')) return false;
  left.remove_suffix(1);
  left = without_blanks_behind(left);
  return left.empty() || left.back() == '\n';
}

}  // namespace

std::string with_unroll_factors(const std::string& text,
                                const std::function<std::string(const std::string&)>& meaning) {
  std::string made;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(kUnroll, at)) != std::string::npos;) {
    const std::size_t begin = at;
    at += kUnroll.size();
    const bool has_factor = at < text.size() && std::string_view(" \t(").contains(text[at]);
    if (!has_factor || !ends_with_pragma(std::string_view(text).substr(0, begin))) continue;
    made.append(text, done, at - done);
    done = std::min(text.find('\n', at), text.size());
    made += with_words(text.substr(at, done - at), meaning);
    at = done;
  }
  return made.append(text, done);
}

}  // namespace fa_tune
