#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/expression/lexer.hpp"
#include "engine/yaml/yaml.hpp"

// Private to engine/space.
namespace fa_tune {

// Where a parser of either dialect stands among the words of its text, and how deep it is.
class TokenCursor {
 protected:
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  static constexpr std::size_t deepest = 200;

  // Counts how deep the functions call each other: parentheses make no node.
  class Level {
   public:
    explicit Level(TokenCursor& cursor) : cursor_(cursor) {
      if (++cursor_.level_ > deepest) cursor_.fail(too_deep());
    }
    ~Level() { --cursor_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TokenCursor& cursor_;
  };

  static std::string too_deep() { return fmt::format("nested deeper than {} levels", deepest); }

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

}  // namespace fa_tune
