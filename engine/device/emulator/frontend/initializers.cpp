#include <bit>

#include <fmt/format.h>

#include "engine/device/emulator/frontend/parser.hpp"

// Initial values of variables: numbers, addresses of variables and functions, and bytes of
// addresses (PTX ISA, initializers; constant expressions are not written by compilers).

namespace fa_tune::emulator {

void Parser::initializer(Symbol& symbol, int element_size) {
  if (!peek().is('{')) {
    initial_value(symbol, element_size);
    return;
  }
  for (int open = 0;;) {  // {{1, 2}, {3, 4}}: full rows only, as compilers write them
    if (accept('{')) {
      ++open;
    } else if (accept('}')) {
      if (--open == 0) return;
    } else if (!accept(',')) {
      initial_value(symbol, element_size);
    }
  }
}

// A number; name, generic(name) or mask(either), each with an offset.
void Parser::initial_value(Symbol& symbol, int element_size) {
  const int line = peek().line;
  std::uint64_t value = 0;
  const bool masked = peek().kind == Token::Kind::integer && peek(1).is('(');
  if (masked || peek().kind == Token::Kind::word) {
    Symbol::Reference reference;
    reference.line = line;
    reference.offset = symbol.initial.size();
    reference.bytes = element_size;
    if (masked) {
      reference.shift = std::countr_zero(expect_integer()) % 64;
      expect('(');
    }
    reference.name = expect_word("the name of a variable");
    const bool generic = reference.name == "generic" && accept('(');
    if (generic) reference.name = expect_word("the name of a variable");
    reference.addend = offset();
    if (generic) {
      expect(')');
      reference.addend += offset();
    }
    if (masked) expect(')');
    symbol.references.push_back(reference);
  } else {
    value = scalar(element_size);
  }
  for (int i = 0; i < element_size; ++i) {
    symbol.initial.push_back(static_cast<std::uint8_t>(i < 8 ? value >> (8 * i) : 0));
  }
  if (symbol.initial.size() > symbol.size) fail_load(line, "more values than the array holds");
}

std::uint64_t Parser::scalar(int element_size) {
  const bool negative = accept('-');
  const Token& token = take();
  switch (token.kind) {
    case Token::Kind::integer:
      return negative ? 0 - token.value : token.value;
    case Token::Kind::real32:
      return negative ? token.value ^ 0x80000000U : token.value;
    case Token::Kind::real64: {
      const double value = std::bit_cast<double>(token.value) * (negative ? -1 : 1);
      if (element_size == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
      return std::bit_cast<std::uint64_t>(value);
    }
    default:
      fail_load(token.line, fmt::format("expected an initial value, found '{}'", token.text));
  }
}

// Once all is known: a table may name what comes after it.
void Parser::resolve_references() {
  for (Symbol& symbol : module_.symbols) {
    for (Symbol::Reference& reference : symbol.references) {
      reference.symbol = find_symbol(reference.name);
    }
  }
}

}  // namespace fa_tune::emulator
