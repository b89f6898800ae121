#include "engine/space/expression_lexer.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/base/yaml.hpp"

namespace fa_tune {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Longer symbols first, so that '<=' is not read as '<'.
constexpr std::array<std::string_view, 17> symbols = {
    "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ","};
// What people write who come from C, and what to write here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> strangers = {{
    {"&&", "write 'and'"},
    {"||", "write 'or'"},
    {"**", "powers are not part of this language"},
    {"!", "write 'not'"},
    {"=", "write '=='"},
}};

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      Token token;
      token.offset = at_;
      if (at_ < text_.size()) read(token);
      tokens.push_back(token);
      if (token.kind == Token::Kind::end) return tokens;
    }
  }

 private:
  void read(Token& token) {
    const char c = text_[at_];
    if (is_digit(c)) return read_integer(token);
    if (is_letter(c)) return read_name(token);
    if (c == '\'' || c == '"') return read_text(token);
    read_symbol(token);
  }

  void read_integer(Token& token) {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ < text_.size() && (text_[at_] == '.' || is_letter(text_[at_])))
      throw ExpressionError{at_, "expected a whole decimal number"};
    token.kind = Token::Kind::integer;
    token.text = text_.substr(start, at_ - start);
    const auto result =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number);
    if (result.ec != std::errc{}) throw ExpressionError{start, "the number is beyond 64 bits"};
  }

  void read_name(Token& token) {
    const std::size_t start = at_;
    while (true) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      if (at_ >= text_.size() || text_[at_] != '.') break;
      ++at_;
      if (at_ >= text_.size() || !is_letter(text_[at_]))
        throw ExpressionError{at_, "expected a name after '.'"};
    }
    token.kind = Token::Kind::name;
    token.text = text_.substr(start, at_ - start);
    if (token.text == "True" || token.text == "False")
      throw ExpressionError{start, "write true and false in lower case"};
  }

  void read_text(Token& token) {
    const std::size_t start = at_;
    const std::size_t end = text_.find(text_[start], start + 1);
    if (end == std::string::npos) throw ExpressionError{start, "the quote is not closed"};
    token.kind = Token::Kind::text;
    token.text = text_.substr(start + 1, end - start - 1);
    if (!is_identifier(token.text))
      throw ExpressionError{start, "expected a name (letters, digits and _) between the quotes"};
    at_ = end + 1;
  }

  void read_symbol(Token& token) {
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (rest.starts_with("**")) refuse(rest);
    for (const std::string_view symbol : symbols) {
      if (!rest.starts_with(symbol)) continue;
      token.kind = Token::Kind::symbol;
      token.text = symbol;
      at_ += symbol.size();
      return;
    }
    refuse(rest);
  }

  [[noreturn]] void refuse(std::string_view rest) const {
    for (const auto& [symbol, advice] : strangers)
      if (rest.starts_with(symbol))
        throw ExpressionError{at_, "unexpected " + quote_text(symbol) + ", " + std::string(advice)};
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte >= 0x80) throw ExpressionError{at_, "unexpected character that is not ASCII"};
    throw ExpressionError{at_, "unexpected " + quote_text(rest.substr(0, 1))};
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokenize(const std::string& text) { return Lexer(text).run(); }

}  // namespace fa_tune
