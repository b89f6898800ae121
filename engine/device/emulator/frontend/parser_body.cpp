#include <algorithm>

#include <fmt/format.h>

#include "engine/device/emulator/frontend/parser.hpp"

namespace fa_tune::emulator {
namespace {

constexpr std::size_t kMostRegisters = 1'000'000;
constexpr int kDeepestNesting = 64;

}  // namespace

void Parser::body(Function& function) {
  for (int open = 1; open > 0;) {
    const Token token = peek();
    if (token.kind == Token::Kind::end) {
      fail_load(token.line, fmt::format("the text ends inside '{}'", function.name));
    }
    if (accept('{')) {
      if (++open > kDeepestNesting) fail_load(token.line, "'{' nested too deep");
      Scope scope;
      scope.id = static_cast<int>(function.scope_parents.size());
      function.scope_parents.push_back(scopes_.back().id);
      scopes_.push_back(std::move(scope));
    } else if (accept('}')) {
      if (--open > 0) scopes_.pop_back();
    } else if (accept(';')) {
      continue;
    } else if (!body_directive(function)) {
      statement(function);
    }
  }
}

bool Parser::body_directive(Function& function) {
  const Token token = peek();
  if (token.kind != Token::Kind::word || token.text[0] != '.') return false;
  take();
  const std::string_view word = token.text;
  if (word == ".reg") {
    registers(function);
  } else if (word == ".loc") {
    --at_;
    source_place();
  } else if (word == ".file") {
    --at_;
    source_file();
  } else if (word == ".pragma") {
    while (peek().kind != Token::Kind::end && !peek().is(';')) take();
    expect(';');
  } else if (word == ".section") {
    expect_word("a section's name");
    skip_braces();
  } else if (word == ".shared" || word == ".local" || word == ".param" || word == ".global" ||
             word == ".const") {
    const Space space = word == ".shared"   ? Space::shared
                        : word == ".global" ? Space::global
                        : word == ".const"  ? Space::constant
                                            : Space::local;
    variables(space, false, &function);
  } else {
    fail_unknown(token.line, std::string(word));
  }
  return true;
}

void Parser::registers(Function& function) {
  const int line = peek().line;
  const std::string_view word = expect_word("a register's type");
  const auto type = word.starts_with(".") ? type_of(word.substr(1)) : std::nullopt;
  if (!type) fail_unknown(line, fmt::format(".reg {}", word));
  Scope& scope = scopes_.back();
  do {
    const std::string_view name = expect_word("a register's name");
    std::uint64_t count = 1;
    const int first = static_cast<int>(function.registers.size());
    if (accept('<')) {
      count = expect_integer();
      expect('>');
      scope.ranges[name] = {first, count};
    } else {
      scope.registers[name] = first;
    }
    if (count > kMostRegisters || function.registers.size() + count > kMostRegisters) {
      fail_load(line, "more registers than a kernel can use");
    }
    function.registers.insert(function.registers.end(), static_cast<std::size_t>(count), *type);
  } while (accept(','));
  expect(';');
}

void Parser::statement(Function& function) {
  Statement statement;
  statement.line = peek().line;
  statement.place = place_;
  statement.scope = scopes_.back().id;
  if (accept('@')) {
    statement.guard_negated = accept('!');
    const std::string_view name = expect_word("a predicate");
    statement.guard = find_register(name);
    if (statement.guard < 0 ||
        function.registers[static_cast<std::size_t>(statement.guard)] != Type::pred) {
      fail_load(statement.line, fmt::format("'{}' is no predicate", name));
    }
  } else if (peek().kind == Token::Kind::word && peek(1).is(':')) {
    const std::string_view name = take().text;
    take();
    if (peek().text == ".branchtargets") {
      branch_targets(function, name);
      return;
    }
    if (peek().text == ".callprototype" || peek().text == ".calltargets") {
      call_targets(function, name);
      return;
    }
    function.labels.push_back(
        {name, statement.scope, static_cast<int>(function.statements.size())});
    return;
  }
  statement.opcode = expect_word("an instruction");
  if (statement.opcode[0] == '%') {
    fail_load(statement.line, fmt::format("expected an instruction, found '{}'", statement.opcode));
  }
  while (!accept(';')) {
    if (peek().kind == Token::Kind::end) {
      fail_load(peek().line, fmt::format("the text ends inside '{}'", statement.opcode));
    }
    statement.operands.push_back(operand(function));
    if (!peek().is(';')) expect(',');
  }
  function.statements.push_back(std::move(statement));
}

void Parser::branch_targets(Function& function, std::string_view name) {
  take();
  BranchTargets targets{name, scopes_.back().id, {}};
  do {
    targets.labels.push_back(expect_word("a label"));
  } while (accept(','));
  expect(';');
  function.branch_targets.push_back(std::move(targets));
}

// Sizes of '(.param .b64 _, .param .align 8 .b8 _[16])'.
std::vector<std::uint64_t> Parser::prototype_parameters() {
  std::vector<std::uint64_t> sizes;
  expect('(');
  while (!accept(')')) {
    const int line = peek().line;
    std::uint64_t size = 0;
    while (peek().kind == Token::Kind::word && peek().text[0] == '.') {
      const std::string_view word = take().text;
      if (word == ".align") expect_integer();
      if (const auto type = type_of(word.substr(1)))
        size = static_cast<std::uint64_t>(size_of(*type));
    }
    if (size == 0) fail_load(line, "a parameter without a type");
    if (!peek().is(',') && !peek().is(')')) expect_word("'_'");
    if (accept('[')) {
      if (!peek().is(']')) size *= std::min<std::uint64_t>(expect_integer(), 1U << 20);
      expect(']');
    }
    sizes.push_back(size);
    if (!peek().is(')')) expect(',');
  }
  return sizes;
}

void Parser::call_targets(Function& function, std::string_view name) {
  CallTargets targets;
  targets.name = name;
  targets.scope = scopes_.back().id;
  targets.by_form = take().text == ".callprototype";
  if (targets.by_form) {
    if (peek().is('(')) targets.returns = prototype_parameters();
    expect_word("'_'");
    if (peek().is('(')) targets.parameters = prototype_parameters();
    while (peek().kind == Token::Kind::word) {  // .noreturn and the like
      take();
      if (peek().kind == Token::Kind::integer) take();
    }
  } else {
    do {
      targets.functions.push_back(expect_word("a function's name"));
    } while (accept(','));
  }
  expect(';');
  function.call_targets.push_back(std::move(targets));
}

}  // namespace fa_tune::emulator
