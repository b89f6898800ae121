#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::source {

// Whether an identifier may have this character after its first.
bool continues_word(char c);

// Names in a text of C or Python, found without its grammar, in one pass and without recursion: the
// text may be a stranger's, of any length.

// [A-Za-z_][A-Za-z0-9_]*, not part of a longer word or a number.
struct SourceWord {
  std::size_t begin = 0;
  std::string_view text;

  std::size_t end() const { return begin + text.size(); }
};
// The first from `from` on, a word's beginning or a place between words.
std::optional<SourceWord> next_word(std::string_view text, std::size_t from);
std::size_t skip_blanks(std::string_view text, std::size_t from);

// The text with blanks in place of comments and of what is quoted. Lines stay where they are.
std::string without_quotes(std::string_view text);

// `text` with each word exchanged for what `meaning` says.
std::string with_words(const std::string& text,
                       const std::function<std::string(const std::string&)>& meaning);

// max(NAME) or min(NAME) in a text, the first from `from` on.
struct Extreme {
  std::size_t begin = 0, end = 0;
  bool most = false;
  std::string name;
};
std::optional<Extreme> next_extreme(std::string_view text, std::size_t from);

// `text` with the factors of its unroll pragmas written out by `meaning` of each word: `#pragma
// unroll UNROLL` as `#pragma unroll 5`. NVRTC expands macros there; nvcc's host preprocessor does
// not (a pragma is implementation-defined, C++ [cpp.pragma]), so that an exported file would not
// compile with it. Keeps the number of lines.
std::string with_unroll_factors(const std::string& text,
                                const std::function<std::string(const std::string&)>& meaning);

}  // namespace fa_tune::source
