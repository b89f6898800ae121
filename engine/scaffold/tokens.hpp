#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::scaffold {

// A word, a number or a sign of a CUDA text.
struct Token {
  enum class Kind { word, number, sign };
  Kind kind = Kind::sign;
  std::string text;
  int line = 0;

  bool is(std::string_view wanted) const { return text == wanted; }
  bool is_word() const { return kind == Kind::word; }
};
using Tokens = std::vector<Token>;

// Part of a list of tokens, from one to before another.
struct Part {
  std::size_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// A macro of the text that stands for a number and that a `-D` or an earlier #define may change:
// #ifndef TILE / #define TILE 16 / #endif.
struct OpenMacro {
  std::int64_t number = 0;
  bool is_bool = false;
  int line = 0;
  std::vector<int> uses = {};  // lines
  bool missing = false;        // the text names it and does not say what it is
};

struct SourceTokens {
  Tokens tokens;
  std::map<std::string, OpenMacro> open;  // they are left in `tokens` by name
  // Numbers with a name that only the text itself can change, and where.
  std::map<std::string, OpenMacro> closed;
  // Names behind `#pragma unroll`, which is not in `tokens`, but for macros that are closed.
  Tokens unrolls;

  // Whether the text still names it.
  bool names(std::string_view name) const;
};

// The text that a compiler sees as far as its own #define, #ifdef and #ifndef lines tell, without
// comments and quotes, macros expanded but for open ones. Conditions that are not understood count
// as true. The text may be a stranger's: throws UserError where it would grow without end.
SourceTokens tokenize(std::string_view text);

// The number that a literal stands for, if it is a whole one.
std::optional<std::int64_t> whole_number(std::string_view literal);

// Behind the bracket that closes the one at `open`, at most `end`. Of '<' too.
std::size_t past_bracket(const Tokens& tokens, std::size_t open, std::size_t end);
// The same of brackets that are not a body's, which are looked at again and again: no further than
// this.
constexpr std::size_t kLongestPart = 400;
std::size_t past_near_bracket(const Tokens& tokens, std::size_t open, std::size_t end);
// What stands between `separator`s that are in no brackets. An empty part has none.
std::vector<Part> split(const Tokens& tokens, Part part, std::string_view separator);

}  // namespace fa_tune::scaffold
