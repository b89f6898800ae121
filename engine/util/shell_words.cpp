#include "engine/util/shell_words.hpp"

#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads one word from `at`, which stands on its first character, and leaves `at` behind it.
std::string read_word(const std::string& text, std::size_t& at) {
  std::string word;
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == '\0' && blank(c)) return word;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (at + 1 == text.size())
        throw UserError("command '" + text + "': there is nothing behind the last backslash");
      const char next = text[at + 1];
      if (quote == '"' && next != '"' && next != '\\') {
        word += c;
      } else {
        word += next;
        ++at;
      }
    } else {
      word += c;
    }
  }
  if (quote != '\0')
    throw UserError("command '" + text + "': the quote " + quote + " is not closed");
  return word;
}

}  // namespace

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && blank(text[at])) ++at;
    if (at == text.size()) break;
    words.push_back(read_word(text, at));
  }
  if (words.empty()) throw UserError("the command is empty: expected a program and its arguments");
  return words;
}

}  // namespace fa_tune
