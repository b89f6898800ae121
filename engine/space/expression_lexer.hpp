#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fa_tune {

// Private to engine/space: the words of an expression.
struct Token {
  enum class Kind { integer, name, text, symbol, end };

  Kind kind = Kind::end;
  std::size_t offset = 0;
  std::string text;  // a name, a symbol, or what stands between the quotes
  std::int64_t number = 0;
};

// Thrown with the place as an offset; the parser, which knows the file, makes it a UserError.
struct ExpressionError {
  std::size_t offset = 0;
  std::string message;
};

// The words of `text`, an `end` last. Throws ExpressionError.
std::vector<Token> tokenize(const std::string& text);

}  // namespace fa_tune
