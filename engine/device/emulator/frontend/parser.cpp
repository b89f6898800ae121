#include "engine/device/emulator/frontend/parser.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace fa_tune::emulator {
namespace {

// A text may declare what it likes; a thread or a CTA has no more than this.
constexpr std::uint64_t kMostBytesOfAVariable = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostFrameBytes = 512 * 1024;

std::optional<Space> space_of(std::string_view directive) {
  if (directive == ".global") return Space::global;
  if (directive == ".const") return Space::constant;
  if (directive == ".shared") return Space::shared;
  if (directive == ".local") return Space::local;
  if (directive == ".param") return Space::param;
  return std::nullopt;
}

}  // namespace

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::take() {
  const Token& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::accept(char mark) {
  if (!peek().is(mark)) return false;
  take();
  return true;
}

void Parser::expect(char mark) {
  if (accept(mark)) return;
  const Token& token = peek();
  fail_load(token.line, token.kind == Token::Kind::end
                            ? fmt::format("the text ends where '{}' was expected", mark)
                            : fmt::format("expected '{}', found '{}'", mark, token.text));
}

std::string_view Parser::expect_word(std::string_view what) {
  const Token& token = take();
  if (token.kind != Token::Kind::word) {
    fail_load(token.line, fmt::format("expected {}, found '{}'", what, token.text));
  }
  return token.text;
}

std::uint64_t Parser::expect_integer() {
  const Token& token = take();
  if (token.kind != Token::Kind::integer) {
    fail_load(token.line, fmt::format("expected a number, found '{}'", token.text));
  }
  return token.value;
}

void Parser::skip_line() {
  const int line = peek().line;
  while (peek().kind != Token::Kind::end && peek().line == line) take();
}

void Parser::skip_braces() {
  expect('{');
  for (int open = 1; open > 0;) {
    const Token& token = take();
    if (token.kind == Token::Kind::end) fail_load(token.line, "the text ends inside '{'");
    if (token.is('{')) ++open;
    if (token.is('}')) --open;
  }
}

Module Parser::run() {
  while (peek().kind != Token::Kind::end) module_item();
  resolve_references();
  return std::move(module_);
}

void Parser::module_item() {
  bool is_extern = false;
  while (peek().text == ".extern" || peek().text == ".visible" || peek().text == ".weak" ||
         peek().text == ".common") {
    is_extern |= take().text == ".extern";
  }
  const Token token = take();
  const std::string_view word = token.text;
  if (word == ".version" || word == ".target" || word == ".loc" || word == ".address_size") {
    --at_;
    skip_line();
  } else if (word == ".file") {
    --at_;
    source_file();
  } else if (word == ".section") {
    expect_word("a section's name");
    skip_braces();
  } else if (word == ".pragma" || word == ".alias") {
    while (peek().kind != Token::Kind::end && !peek().is(';')) take();
    expect(';');
  } else if (word == ".entry" || word == ".func") {
    function(word == ".entry");
  } else if (const auto space = space_of(word); space && token.kind == Token::Kind::word) {
    variables(*space, is_extern, nullptr);
  } else {
    fail_load(token.line, fmt::format("'{}' begins no declaration", word));
  }
}

void Parser::function(bool is_entry) {
  Function& function = module_.functions.emplace_back();
  function.is_entry = is_entry;
  function.line = peek().line;
  place_ = -1;
  function.scope_parents.push_back(0);
  scopes_.emplace_back();
  scopes_.back().id = 0;
  frame_ = 0;
  frame_align_ = 16;
  if (!is_entry && peek().is('(')) function.returns = formal_parameters(function, false);
  function.name = expect_word("a function's name");
  if (peek().is('(')) function.parameters = formal_parameters(function, is_entry);
  while (performance_directive(function)) {
  }
  if (!accept(';')) {
    function.has_body = true;
    expect('{');
    body(function);
  }
  function.frame_bytes = frame_;
  function.frame_align = frame_align_;
  scopes_.pop_back();
}

std::vector<const Symbol*> Parser::formal_parameters(Function& function, bool is_entry) {
  std::vector<const Symbol*> found;
  expect('(');
  while (!accept(')')) {
    const int line = peek().line;
    if (expect_word("'.param'") != ".param") fail_load(line, "expected '.param'");
    Symbol symbol;
    symbol.line = line;
    symbol.space = is_entry ? Space::param : Space::local;
    Type type = Type::none;
    while (type == Type::none) {
      const std::string_view word = expect_word("a parameter's type");
      if (word == ".align") {
        symbol.align = static_cast<int>(std::min<std::uint64_t>(expect_integer(), 1024));
      } else if (word == ".ptr" || word == ".global" || word == ".shared" || word == ".const" ||
                 word == ".local") {
        continue;
      } else if (const auto named = type_of(word.substr(1)); named && size_of(*named) > 0) {
        type = *named;
      } else {
        fail_load(line, fmt::format("'{}' is no type of a parameter", word));
      }
    }
    // .param .u64 .ptr .global .align 4 name
    while (peek().text == ".ptr" || peek().text == ".global" || peek().text == ".shared" ||
           peek().text == ".const" || peek().text == ".local" || peek().text == ".align") {
      if (take().text == ".align") expect_integer();
    }
    symbol.name = expect_word("a parameter's name");
    symbol.size = static_cast<std::uint64_t>(size_of(type));
    symbol.align = std::max(symbol.align, size_of(type));
    if (accept('[')) {
      if (!peek().is(']')) symbol.size *= std::min(expect_integer(), kMostBytesOfAVariable);
      expect(']');
    }
    std::uint64_t& end = is_entry ? function.parameter_bytes : frame_;
    if (symbol.size > 32 * 1024 || !std::has_single_bit(static_cast<unsigned>(symbol.align))) {
      fail_load(line, "a parameter of impossible size or alignment");
    }
    symbol.address = aligned_up(end, static_cast<std::uint64_t>(symbol.align));
    end = symbol.address + symbol.size;
    if (end > kMostFrameBytes) fail_load(line, "too many parameters");
    if (!is_entry) symbol.function = static_cast<int>(module_.functions.size()) - 1;
    frame_align_ = std::max(frame_align_, static_cast<std::uint64_t>(symbol.align));
    found.push_back(&declare(symbol));
    if (!peek().is(')')) expect(',');
  }
  return found;
}

bool Parser::performance_directive(Function& function) {
  const std::string_view word = peek().text;
  if (word == ".noreturn" || word == ".explicitcluster" || word == ".blocksareclusters") {
    take();
    return true;
  }
  const bool counted = word == ".maxntid" || word == ".reqntid" || word == ".minnctapersm" ||
                       word == ".maxnreg" || word == ".maxnctapersm" ||
                       word == ".reqnctapercluster" || word == ".maxclusterrank" ||
                       word == ".abi_preserve" || word == ".abi_preserve_control";
  if (!counted) {
    if (word != ".pragma") return false;
    while (peek().kind != Token::Kind::end && !peek().is(';')) take();
    expect(';');
    return true;
  }
  take();
  std::uint64_t product = 1;
  do {
    product *= expect_integer() & 0xffff;
  } while (accept(','));
  if (word == ".maxntid" || word == ".reqntid") function.most_threads = product;
  if (word == ".minnctapersm") function.least_blocks = product;
  if (word == ".maxnreg") function.most_registers = product;
  return true;
}

Symbol& Parser::declare(Symbol symbol) {
  Symbol& stored = module_.symbols.emplace_back(std::move(symbol));
  scopes_.back().symbols[stored.name] = &stored;
  return stored;
}

void Parser::variables(Space space, bool is_extern, Function* function) {
  Symbol pattern;
  pattern.space = space;
  pattern.is_extern = is_extern;
  pattern.line = peek().line;
  int vector = 1;
  Type type = Type::none;
  while (type == Type::none) {
    const std::string_view word = expect_word("a variable's type");
    if (word == ".align") {
      pattern.align = static_cast<int>(std::min<std::uint64_t>(expect_integer(), 4096));
    } else if (word == ".v2" || word == ".v4") {
      vector = word == ".v2" ? 2 : 4;
    } else if (word.starts_with(".attribute")) {
      expect('(');
      while (!accept(')')) {
        if (take().kind == Token::Kind::end) fail_load(pattern.line, "'.attribute(' has no end");
      }
    } else if (const auto named = type_of(word.substr(1)); named && size_of(*named) > 0) {
      type = *named;
    } else {
      fail_load(pattern.line, fmt::format("'{}' is no type of a variable", word));
    }
  }
  const int element = size_of(type);
  do {
    Symbol symbol = pattern;
    symbol.name = expect_word("a variable's name");
    symbol.size = static_cast<std::uint64_t>(element) * static_cast<std::uint64_t>(vector);
    symbol.align = std::max(symbol.align, element * vector);
    while (accept('[')) {
      const std::uint64_t count = peek().is(']') ? 0 : expect_integer();
      expect(']');
      if (count > kMostBytesOfAVariable || symbol.size > kMostBytesOfAVariable) {
        fail_load(symbol.line, fmt::format("'{}' is too large", symbol.name));
      }
      symbol.size *= count;
    }
    if (symbol.size > kMostBytesOfAVariable ||
        !std::has_single_bit(static_cast<unsigned>(symbol.align))) {
      fail_load(symbol.line, fmt::format("'{}' has an impossible size or alignment", symbol.name));
    }
    if (function != nullptr && (space == Space::local || space == Space::param)) {
      symbol.space = Space::local;
      symbol.address = aligned_up(frame_, static_cast<std::uint64_t>(symbol.align));
      frame_ = symbol.address + symbol.size;
      if (frame_ > kMostFrameBytes) fail_load(symbol.line, "more local memory than a thread has");
      symbol.function = static_cast<int>(module_.functions.size()) - 1;
      frame_align_ = std::max(frame_align_, static_cast<std::uint64_t>(symbol.align));
    }
    Symbol& stored = declare(std::move(symbol));
    if (accept('=')) initializer(stored, element);
  } while (accept(','));
  expect(';');
}

Module parse_module(std::string_view source) { return Parser(source).run(); }

}  // namespace fa_tune::emulator
