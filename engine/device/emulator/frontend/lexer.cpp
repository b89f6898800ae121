#include "engine/device/emulator/frontend/lexer.hpp"

#include <bit>
#include <charconv>
#include <string>

#include <fmt/format.h>

namespace fa_tune::emulator {

void fail_load(int line, const std::string& message) {
  throw LoadError{{DiagnosticKind::load_failed, fmt::format("PTX line {}: {}", line, message)}};
}

void fail_unknown(int line, const std::string& instruction) {
  throw LoadError{{DiagnosticKind::unknown_instruction,
                   fmt::format("PTX line {}: the emulator does not know '{}'", line, instruction)}};
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%'; }
bool in_word(char c) { return starts_word(c) || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(source_.size() / 4);
    while (skip_blank()) tokens.push_back(next());
    tokens.push_back({Token::Kind::end, "", 0, line_});
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  // Moves past spaces and comments; false at the end.
  bool skip_blank() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\0') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        skip_block_comment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_block_comment() {
    const int begin = line_;
    at_ += 2;
    while (peek() != '*' || peek(1) != '/') {
      if (at_ >= source_.size()) fail_load(begin, "a comment that does not end");
      if (source_[at_] == '\n') ++line_;
      ++at_;
    }
    at_ += 2;
  }

  Token next() {
    const char c = peek();
    if (starts_word(c) || (c == '.' && in_word(peek(1)))) return word();
    if (is_digit(c)) return number();
    if (c == '"') return text();
    constexpr std::string_view marks = ",;:()[]{}<>+-@!|=*/~^&?";
    if (marks.find(c) == std::string_view::npos) {
      fail_load(line_, fmt::format("unexpected character 0x{:02x}", static_cast<unsigned char>(c)));
    }
    return take(Token::Kind::mark, 1);
  }

  Token take(Token::Kind kind, std::size_t length, std::uint64_t value = 0) {
    const Token token{kind, source_.substr(at_, length), value, line_};
    at_ += length;
    return token;
  }

  // '.reg.b32' is two words: a directive ends at the next dot.
  Token word() {
    const bool directive = peek() == '.';
    std::size_t length = 1;
    for (;; ++length) {
      const char c = peek(length);
      if (in_word(c)) continue;
      if (c == '.' && !directive && in_word(peek(length + 1))) continue;
      if (c == ':' && peek(length + 1) == ':' && in_word(peek(length + 2))) {
        ++length;
        continue;
      }
      break;
    }
    return take(Token::Kind::word, length);
  }

  Token number() {
    const char kind = peek(1);
    if (peek() == '0' && (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D')) {
      const bool single = kind == 'f' || kind == 'F';
      const std::size_t digits = single ? 8 : 16;
      for (std::size_t i = 0; i < digits; ++i) {
        if (!is_hex(peek(2 + i))) fail_load(line_, "a real constant with too few digits");
      }
      return take(single ? Token::Kind::real32 : Token::Kind::real64, 2 + digits,
                  parse(source_.substr(at_ + 2, digits), 16));
    }
    int base = 10;
    std::size_t begin = 0;
    if (peek() == '0' && (kind == 'x' || kind == 'X')) {
      base = 16;
      begin = 2;
    } else if (peek() == '0' && (kind == 'b' || kind == 'B')) {
      base = 2;
      begin = 2;
    }
    std::size_t end = begin;
    while (base == 16 ? is_hex(peek(end)) : is_digit(peek(end))) ++end;
    if (base == 10 && (peek(end) == '.' || peek(end) == 'e' || peek(end) == 'E')) return decimal();
    if (base == 10 && peek() == '0' && end > 1) base = 8;
    if (end == begin) fail_load(line_, "a number without digits");
    const std::uint64_t value = parse(source_.substr(at_ + begin, end - begin), base);
    if (peek(end) == 'U' || peek(end) == 'u') ++end;
    return take(Token::Kind::integer, end, value);
  }

  Token decimal() {
    std::size_t length = 0;
    while (is_digit(peek(length)) || peek(length) == '.' || peek(length) == 'e' ||
           peek(length) == 'E') {
      ++length;
      const char sign = peek(length);
      const char before = peek(length - 1);
      if ((sign == '+' || sign == '-') && (before == 'e' || before == 'E')) ++length;
    }
    double value = 0;
    const std::string_view digits = source_.substr(at_, length);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return take(Token::Kind::real64, length, std::bit_cast<std::uint64_t>(value));
  }

  std::uint64_t parse(std::string_view digits, int base) const {
    std::uint64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size()) {
      fail_load(line_, fmt::format("'{}' is no number of 64 bits", digits));
    }
    return value;
  }

  Token text() {
    std::size_t length = 1;
    while (peek(length) != '"') {
      if (at_ + length >= source_.size() || peek(length) == '\n') {
        fail_load(line_, "a string that does not end");
      }
      ++length;
    }
    return take(Token::Kind::text, length + 1);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace fa_tune::emulator
