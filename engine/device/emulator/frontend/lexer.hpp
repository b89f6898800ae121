#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/device/emulator/ir/types.hpp"

namespace fa_tune::emulator {

// Thrown inside the loader and caught by load_program, which returns it: a recursive descent with a
// return value at every step would hide the grammar. It never leaves this part.
struct LoadError {
  Diagnostic diagnostic;
};
[[noreturn]] void fail_load(int line, const std::string& message);
[[noreturn]] void fail_unknown(int line, const std::string& instruction);

// A PTX text cut into words. Dots and '::' belong to the word around them, so that an opcode with
// all its modifiers, a directive and '%tid.x' are one token each. Texts point into the source,
// which must outlive the tokens.
struct Token {
  enum class Kind : std::uint8_t { word, integer, real32, real64, text, mark, end };
  Kind kind = Kind::end;
  std::string_view text;    // for mark: one character
  std::uint64_t value = 0;  // an integer, or the bits of a real
  int line = 0;
  bool is(char c) const { return kind == Kind::mark && text[0] == c; }
};

// Throws LoadError for a character that PTX does not have. The last token is of kind `end`.
std::vector<Token> tokenize(std::string_view source);

}  // namespace fa_tune::emulator
