#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/expression/expression.hpp"
#include "engine/expression/node.hpp"

namespace fa_tune {

// Private to engine/space: the words of an expression.
struct Token {
  enum class Kind { integer, real, name, text, symbol, end };

  Kind kind = Kind::end;
  std::size_t offset = 0;
  std::string text;  // a name, a symbol, or what stands between the quotes
  std::int64_t number = 0;
  double real = 0;
};

// Thrown with the place as an offset; the parser, which knows the file, makes it a UserError.
struct ExpressionError {
  std::size_t offset = 0;
  std::string message;
};

// The words of `text`, an `end` last. Throws ExpressionError.
std::vector<Token> tokenize(const std::string& text, Dialect dialect = Dialect::native);

// What a symbol asks for, where it compares.
std::optional<ComparisonOperator> comparison_of(const Token& token);

// The error with its place in the file, or its column where there is none.
[[noreturn]] void refuse_expression(const Expression& expression, const ExpressionError& error);

}  // namespace fa_tune
