#include "engine/source/compiler_policy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/source/identifier_substitution.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {
namespace {

enum class Takes { nothing, flag, number };

struct Known {
  std::string_view name;
  Takes takes;
};

// NVRTC documentation, "Supported Compile Options".
constexpr std::array kKnown = {Known{"--use_fast_math", Takes::nothing},
                               Known{"--extra-device-vectorization", Takes::nothing},
                               Known{"--restrict", Takes::nothing},
                               Known{"--fmad", Takes::flag},
                               Known{"--ftz", Takes::flag},
                               Known{"--prec-div", Takes::flag},
                               Known{"--prec-sqrt", Takes::flag},
                               Known{"--maxrregcount", Takes::number}};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == text.npos;
}

bool is_known(std::string_view option) {
  const std::size_t equals = option.find('=');
  const auto found = std::ranges::find(kKnown, option.substr(0, equals), &Known::name);
  if (found == kKnown.end()) return false;
  const std::string_view value =
      equals == option.npos ? std::string_view() : option.substr(equals + 1);
  switch (found->takes) {
    case Takes::nothing:
      return equals == option.npos;
    case Takes::flag:
      return value == "true" || value == "false";
    case Takes::number:
      return is_number(value);
  }
  return false;
}

std::string known_options() {
  std::vector<std::string> all;
  for (const Known& known : kKnown)
    all.push_back(std::string(known.name) + (known.takes == Takes::flag     ? "=true|false"
                                             : known.takes == Takes::number ? "=N"
                                                                            : ""));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::vector<std::string> compile_options(const YamlNode& node) {
  std::vector<std::string> options;
  for (const YamlNode& item : node.items("options")) {
    if (!is_known(item.text("options"))) item.expected("options", "one of " + known_options());
    options.push_back(item.text("options"));
  }
  return options;
}

namespace {

// Directives that read a file, and what follows the first of them: include_next.
constexpr std::array<std::string_view, 3> kReaders = {"include", "import", "embed"};

// A line that ends with a backslash goes on in the next.
std::string spliced(const std::string& text) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i + 1;
    while (text[i] == '\\' && end < text.size() &&
           (text[end] == ' ' || text[end] == '\t' || text[end] == '\r'))
      ++end;
    if (text[i] == '\\' && end < text.size() && text[end] == '\n')
      i = end;
    else
      made += text[i];
  }
  return made;
}

std::size_t behind_blanks(std::string_view text, std::size_t at) {
  for (;;) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (text.substr(at, 2) != "/*") return at;
    at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  }
}

// Whether what ends at `at` could be the mark that begins a directive, with comments behind it.
bool follows_mark(std::string_view text, std::size_t at) {
  for (;;) {
    while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1])) != 0) --at;
    if (at >= 2 && text.substr(at - 2, 2) == "*/") {
      const std::size_t begin = text.rfind("/*", at - 2);
      if (begin == std::string_view::npos) return false;
      at = begin;
      continue;
    }
    return at > 0 && (text[at - 1] == '#' || (at > 1 && text.substr(at - 2, 2) == "%:"));
  }
}

bool is_foreign(std::string_view path) {
  return path.starts_with('/') || path.starts_with('~') || path.starts_with('\\') ||
         path.find("..") != std::string_view::npos;
}

}  // namespace

void refuse_foreign_includes(const std::string& source, const std::string& name) {
  const std::string text = spliced(source);
  for (const std::string_view reader : kReaders)
    for (std::size_t at = text.find(reader); at != std::string::npos;
         at = text.find(reader, at + 1)) {
      std::size_t end = at + reader.size();
      while (end < text.size() && continues_word(text[end])) ++end;
      const std::size_t operand = behind_blanks(text, end);
      if (operand >= text.size()) continue;
      const char open = text[operand];
      if (open == '"' || open == '<') {
        const std::size_t line = std::min(text.find('\n', operand), text.size());
        const std::size_t close = std::min(text.find(open == '"' ? '"' : '>', operand + 1), line);
        const std::string path = text.substr(operand + 1, close - operand - 1);
        const std::size_t begin = std::min(path.find_first_not_of(" \t"), path.size());
        if (is_foreign(std::string_view(path).substr(begin)))
          throw UserError(name + ": its source names the file " + quote_text(path) +
                          ", which is none of its own");
      } else if (continues_word(open) && follows_mark(text, at)) {
        throw UserError(name + ": its source includes what a macro says: name the file itself");
      }
    }
}

}  // namespace fa_tune::source
