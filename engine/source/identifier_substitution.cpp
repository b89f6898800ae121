#include "engine/source/identifier_substitution.hpp"

#include <algorithm>
#include <string_view>

namespace fa_tune::source {
namespace {

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool has(std::string_view text, std::size_t at, char c) {
  return at < text.size() && text[at] == c;
}

}  // namespace

bool continues_word(char c) { return starts_word(c) || (c >= '0' && c <= '9'); }

std::optional<SourceWord> next_word(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    if (!continues_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && continues_word(text[end])) ++end;
    if (starts_word(text[at])) return SourceWord{at, text.substr(at, end - at)};
    at = end;
  }
  return std::nullopt;
}

std::size_t skip_blanks(std::string_view text, std::size_t from) {
  const std::size_t at = text.find_first_not_of(" \t\r\n\f\v", from);
  return at == std::string_view::npos ? text.size() : at;
}

std::string without_quotes(std::string_view text) {
  std::string plain(text);
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, plain.size()); ++i)
      if (plain[i] != '\n') plain[i] = ' ';
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t end = at;
    if (text.substr(at, 2) == "//") {
      end = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      end = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
    } else if (text[at] == '"' ||
               (text[at] == '\'' && (at == 0 || !continues_word(text[at - 1])))) {
      end = at + 1;
      while (end < text.size() && text[end] != text[at] && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else {
      continue;
    }
    blank(at, end);
    at = end - 1;
  }
  return plain;
}

std::string with_words(const std::string& text,
                       const std::function<std::string(const std::string&)>& meaning) {
  std::string made;
  std::size_t at = 0;
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end())) {
    made += text.substr(at, word->begin - at) + meaning(std::string(word->text));
    at = word->end();
  }
  return made + text.substr(at);
}

std::optional<Extreme> next_extreme(std::string_view text, std::size_t from) {
  for (auto word = next_word(text, from); word; word = next_word(text, word->end())) {
    if (word->text != "max" && word->text != "min") continue;
    const std::size_t open = skip_blanks(text, word->end());
    if (!has(text, open, '(')) continue;
    const std::size_t begin = skip_blanks(text, open + 1);
    const auto name = next_word(text, begin);
    if (!name || name->begin != begin) continue;
    const std::size_t close = skip_blanks(text, name->end());
    if (!has(text, close, ')')) continue;
    return Extreme{word->begin, close + 1, word->text == "max", std::string(name->text)};
  }
  return std::nullopt;
}

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

}  // namespace fa_tune::source
