#include "engine/expression/lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Longer symbols first, so that '<=' is not read as '<'.
constexpr std::array<std::string_view, 17> kSymbols = {
    "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ","};
// Only in Python.
constexpr std::string_view kPowerSign = "**";
// What people write who come from C, and what to write here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStrangers = {{
    {".", "attributes are not part of this language"},
    {"&&", "write 'and'"},
    {"||", "write 'or'"},
    {"**", "powers are not part of this language"},
    {"!", "write 'not'"},
    {"=", "write '=='"},
}};

class Lexer {
 public:
  Lexer(const std::string& text, Dialect dialect)
      : text_(text), is_python_(dialect == Dialect::python) {}

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
    if (is_python_ && (is_digit(c) || (c == '.' && is_digit(peek(1))))) return read_number(token);
    if (is_digit(c)) return read_integer(token);
    if (is_letter(c)) return read_name(token);
    if (c == '\'' || c == '"') return read_text(token);
    read_symbol(token);
  }

  char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // Python's decimal numbers: 12, 1_000, 1.5, .5, 2., 1e-3.
  void read_number(Token& token) {
    const std::size_t start = at_;
    bool is_real = false;
    const auto digits = [&] {
      while (is_digit(peek(0)) || (peek(0) == '_' && is_digit(peek(1)))) ++at_;
    };
    digits();
    if (peek(0) == '.') {
      is_real = true;
      ++at_;
      digits();
    }
    const char sign = peek(1);
    if ((peek(0) == 'e' || peek(0) == 'E') &&
        (is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(peek(2))))) {
      is_real = true;
      at_ += 2;
      digits();
    }
    if (is_letter(peek(0)) || peek(0) == '.')
      throw ExpressionError{at_, "expected a decimal number"};
    token.text = text_.substr(start, at_ - start);
    std::erase(token.text, '_');
    const char* end = token.text.data() + token.text.size();
    token.kind = is_real ? Token::Kind::real : Token::Kind::integer;
    const auto result = is_real ? std::from_chars(token.text.data(), end, token.real)
                                : std::from_chars(token.text.data(), end, token.number);
    if (result.ec != std::errc{}) throw ExpressionError{start, "the number is beyond 64 bits"};
    if (!is_real && token.text.size() > 1 && token.text[0] == '0' && token.number != 0)
      throw ExpressionError{start, "Python has no numbers with leading zeros"};
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
      if (at_ >= text_.size() || text_[at_] != '.' || is_python_) break;
      ++at_;
      if (at_ >= text_.size() || !is_letter(text_[at_]))
        throw ExpressionError{at_, "expected a name after '.'"};
    }
    token.kind = Token::Kind::name;
    token.text = text_.substr(start, at_ - start);
    if (!is_python_ && (token.text == "True" || token.text == "False"))
      throw ExpressionError{start, "write true and false in lower case"};
  }

  void read_text(Token& token) {
    const std::size_t start = at_;
    const std::size_t end = text_.find(text_[start], start + 1);
    if (end == std::string::npos) throw ExpressionError{start, "the quote is not closed"};
    token.kind = Token::Kind::text;
    token.text = text_.substr(start + 1, end - start - 1);
    if (is_python_) {
      if (!std::ranges::all_of(token.text, is_plain))
        throw ExpressionError{start, "text may hold printable ASCII alone, without backslashes"};
    } else if (!is_qualified_name(token.text))
      throw ExpressionError{
          start, "expected a name (letters, digits and _; ns::name too) between the quotes"};
    at_ = end + 1;
  }

  void read_symbol(Token& token) {
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (rest.starts_with(kPowerSign)) {
      if (!is_python_) refuse(rest);
      token.kind = Token::Kind::symbol;
      token.text = kPowerSign;
      at_ += kPowerSign.size();
      return;
    }
    for (const std::string_view symbol : kSymbols) {
      if (!rest.starts_with(symbol)) continue;
      token.kind = Token::Kind::symbol;
      token.text = symbol;
      at_ += symbol.size();
      return;
    }
    refuse(rest);
  }

  [[noreturn]] void refuse(std::string_view rest) const {
    for (const auto& [symbol, advice] : kStrangers)
      if (rest.starts_with(symbol))
        throw ExpressionError{at_, "unexpected " + quote_text(symbol) + ", " + std::string(advice)};
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte >= 0x80) throw ExpressionError{at_, "unexpected character that is not ASCII"};
    throw ExpressionError{at_, "unexpected " + quote_text(rest.substr(0, 1))};
  }

  const std::string& text_;
  bool is_python_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokenize(const std::string& text, Dialect dialect) {
  return Lexer(text, dialect).run();
}

std::optional<ComparisonOperator> comparison_of(const Token& token) {
  constexpr std::pair<const char*, ComparisonOperator> known[] = {
      {"==", ComparisonOperator::equal},  {"!=", ComparisonOperator::unequal},
      {"<", ComparisonOperator::less},    {"<=", ComparisonOperator::less_equal},
      {">", ComparisonOperator::greater}, {">=", ComparisonOperator::greater_equal}};
  if (token.kind != Token::Kind::symbol) return std::nullopt;
  for (const auto& [symbol, meaning] : known)
    if (token.text == symbol) return meaning;
  return std::nullopt;
}

void refuse_expression(const Expression& expression, const ExpressionError& error) {
  const std::string place =
      expression.mark().line > 0 ? "" : fmt::format(" (column {})", error.offset + 1);
  throw UserError(prefix(expression.mark_at(error.offset)) + error.message + " in " +
                  quote_text(expression.text()) + place);
}

}  // namespace fa_tune::expression
