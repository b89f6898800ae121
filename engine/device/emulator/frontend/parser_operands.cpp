#include <charconv>
#include <ranges>

#include <fmt/format.h>

#include "engine/device/emulator/frontend/parser.hpp"

// Operands, and what their names stand for.

namespace fa_tune::emulator {

int Parser::find_register(std::string_view name) const {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::string_view digits = name.substr(last == std::string_view::npos ? 0 : last + 1);
  for (const Scope& scope : std::views::reverse(scopes_)) {
    if (const auto exact = scope.registers.find(name); exact != scope.registers.end()) {
      return exact->second;
    }
    // '%r10' may be number 10 of '%r' or number 0 of '%r1'.
    for (std::size_t cut = 1; cut <= digits.size(); ++cut) {
      const auto range = scope.ranges.find(name.substr(0, name.size() - cut));
      if (range == scope.ranges.end()) continue;
      std::uint64_t number = 0;
      const std::string_view text = name.substr(name.size() - cut);
      std::from_chars(text.data(), text.data() + text.size(), number);
      if (number < range->second.count) return range->second.first + static_cast<int>(number);
    }
  }
  return -1;
}

Symbol* Parser::find_symbol(std::string_view name) const {
  for (const Scope& scope : std::views::reverse(scopes_)) {
    const auto found = scope.symbols.find(name);
    if (found != scope.symbols.end()) return found->second;
  }
  return nullptr;
}

Operand Parser::operand(Function& function) {
  if (++depth_ > 8) fail_load(peek().line, "operands nested too deep");
  Operand result = primary(function);
  if (accept('|')) {
    const Token& token = take();
    result.second = token.text == "_" ? -1 : find_register(token.text);
    if (result.second < 0 && token.text != "_") {
      fail_load(token.line, fmt::format("'{}' is no register", token.text));
    }
  }
  --depth_;
  return result;
}

Operand Parser::primary(Function& function) {
  if (accept('[')) return address(function);
  if (accept('{')) return list(function, '}', Operand::Kind::vector);
  if (accept('(')) return list(function, ')', Operand::Kind::list);
  if (accept('!')) {
    const Token token = take();
    Operand result;
    if (token.kind == Token::Kind::word) result = named(function, token);
    if (result.kind != Operand::Kind::reg) fail_load(token.line, "'!' wants a predicate");
    result.negated = true;
    return result;
  }
  const bool negative = accept('-');
  const Token token = take();
  if (token.kind == Token::Kind::word && !negative) return named(function, token);
  return constant(token, negative);
}

Operand Parser::constant(const Token& token, bool negative) {
  Operand result;
  result.value = static_cast<std::int64_t>(token.value);
  switch (token.kind) {
    case Token::Kind::integer:
      result.kind = Operand::Kind::integer;
      if (negative) result.value = static_cast<std::int64_t>(0 - token.value);
      return result;
    case Token::Kind::real32:
      result.kind = Operand::Kind::real32;
      if (negative) result.value ^= 0x80000000;
      return result;
    case Token::Kind::real64:
      result.kind = Operand::Kind::real64;
      if (negative) result.value ^= INT64_MIN;
      return result;
    default:
      fail_load(token.line, token.kind == Token::Kind::end
                                ? std::string("the text ends inside an instruction")
                                : fmt::format("expected an operand, found '{}'", token.text));
  }
}

Operand Parser::named(Function& function, const Token& token) {
  Operand result;
  result.name = token.text;
  if (token.text == "_") return result;
  result.index = find_register(token.text);
  if (result.index >= 0) {
    result.kind = Operand::Kind::reg;
    return result;
  }
  if (Symbol* symbol = find_symbol(token.text)) {
    result.kind = Operand::Kind::symbol;
    result.symbol = symbol;
    result.value = offset();
    return result;
  }
  // A register of a vector: '%v.x' is not written by compilers of today.
  const bool is_special = token.text[0] == '%' || token.text == "WARP_SZ";
  result.kind = is_special ? Operand::Kind::special : Operand::Kind::name;
  if (function.name.empty()) fail_load(token.line, fmt::format("'{}' is unknown", token.text));
  return result;
}

std::int64_t Parser::offset() {
  std::uint64_t total = 0;
  while (peek().is('+') || peek().is('-')) {
    bool negative = take().is('-');
    if (peek().is('-')) {
      take();
      negative = !negative;
    }
    const std::uint64_t value = expect_integer();
    total += negative ? 0 - value : value;
  }
  return static_cast<std::int64_t>(total);
}

Operand Parser::address(Function& function) {
  Operand result;
  result.kind = Operand::Kind::address;
  const int line = peek().line;
  Operand base = operand(function);
  if (base.kind != Operand::Kind::reg && base.kind != Operand::Kind::symbol &&
      base.kind != Operand::Kind::integer) {
    fail_load(line, fmt::format("'{}' is no address", base.name));
  }
  if (base.kind == Operand::Kind::symbol) std::swap(result.value, base.value);
  result.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(result.value) +
                                           static_cast<std::uint64_t>(offset()));
  result.parts.push_back(std::move(base));
  if (accept(',')) result.parts.push_back(operand(function));
  expect(']');
  return result;
}

Operand Parser::list(Function& function, char close, Operand::Kind kind) {
  Operand result;
  result.kind = kind;
  while (!accept(close)) {
    result.parts.push_back(operand(function));
    if (!peek().is(close)) expect(',');
  }
  return result;
}

}  // namespace fa_tune::emulator
