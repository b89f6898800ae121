#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/expression/expression.hpp"
#include "engine/expression/node.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {

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

// Where a parser of either dialect stands among the words of its text, and how deep it is.
class TokenCursor {
 protected:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  static constexpr std::size_t kDeepest = 200;

  // Counts how deep the functions call each other: parentheses make no node.
  class Level {
   public:
    explicit Level(TokenCursor& cursor) : cursor_(cursor) {
      if (++cursor_.level_ > kDeepest) cursor_.fail(too_deep());
    }
    ~Level() { --cursor_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenCursor& cursor_;
  };

  static std::string too_deep() { return fmt::format("nested deeper than {} levels", kDeepest); }

  const Token& next() const { return tokens_[at_]; }
  static bool is_symbol(const Token& token, const char* symbol) {
    return token.kind == Token::Kind::symbol && token.text == symbol;
  }
  static bool is_word(const Token& token, const char* word) {
    return token.kind == Token::Kind::name && token.text == word;
  }
  bool is_symbol(const char* symbol) const { return is_symbol(next(), symbol); }
  bool is_word(const char* word) const { return is_word(next(), word); }
  bool take_symbol(const char* symbol) {
    const bool there = is_symbol(symbol);
    if (there) ++at_;
    return there;
  }
  bool take_word(const char* word) {
    const bool there = is_word(word);
    if (there) ++at_;
    return there;
  }
  void want_symbol(const char* symbol) {
    if (!take_symbol(symbol))
      fail(fmt::format("expected '{}', found {}", symbol, describe(next())));
  }
  void want_word(const char* word) {
    if (!take_word(word)) fail(fmt::format("expected '{}', found {}", word, describe(next())));
  }
  void want_end() const {
    if (next().kind != Token::Kind::end)
      fail(fmt::format("expected an operator or the end, found {}", describe(next())));
  }
  // "in" or "not in", which must be next; whether it is the latter.
  bool take_membership() {
    const bool negated = take_word("not");
    want_word("in");
    return negated;
  }
  // What the next symbol asks for, of those that `known` lists.
  template <typename Known>
  std::optional<Operation> take_operator(const Known& known) {
    for (const auto& [symbol, operation] : known)
      if (take_symbol(symbol)) return operation;
    return std::nullopt;
  }
  // The comparisons behind a first operand: a < b <= c. `read_operand` is called behind each.
  template <typename ReadOperand>
  std::vector<ComparisonOperator> take_comparisons(ReadOperand read_operand) {
    std::vector<ComparisonOperator> comparisons;
    for (auto found = comparison_of(next()); found; found = comparison_of(next())) {
      ++at_;
      comparisons.push_back(*found);
      read_operand();
    }
    if (!comparisons.empty() && is_word("in"))
      fail("put parentheses around a comparison before 'in'");
    return comparisons;
  }

  // The place of a name among those of an expression, to which it is added where it is new.
  static std::size_t remember(const Token& token, std::vector<std::string>& names,
                              std::vector<std::size_t>& offsets) {
    const auto found = std::ranges::find(names, token.text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(token.text);
    offsets.push_back(token.offset);
    return names.size() - 1;
  }

  [[noreturn]] void fail(std::string message) const {
    throw ExpressionError{next().offset, std::move(message)};
  }
  static std::string describe(const Token& token) {
    return token.kind == Token::Kind::end ? "the end" : quote_text(token.text);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t level_ = 0;
};

}  // namespace fa_tune::expression
