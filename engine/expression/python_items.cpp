#include <algorithm>
#include <ranges>

#include "engine/expression/python_parser.hpp"

// What a value may be: numbers, text, names, calls, and lists with their comprehensions.
namespace fa_tune::expression {
namespace {

// Words of Python that stand for nothing here.
bool is_keyword(const std::string& word) {
  static const std::vector<std::string> keywords = {
      "None",  "and",    "as",   "assert", "async",  "await",    "break", "class", "continue",
      "def",   "del",    "elif", "else",   "except", "finally",  "for",   "from",  "global",
      "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",
      "raise", "return", "try",  "while",  "with",   "yield"};
  return std::ranges::find(keywords, word) != keywords.end();
}

}  // namespace

PythonOperand PythonParser::parse_primary() {
  const Token token = next();
  PythonOperand operand = parse_atom(token);
  if (is_symbol("[")) fail("subscripts are not part of this language");
  if (is_symbol("(")) fail("only functions known by name can be called");
  return operand;
}

PythonOperand PythonParser::parse_atom(const Token& token) {
  if (take_symbol("[")) return parse_items(token.offset, "]", true);
  if (take_symbol("(")) return parse_items(token.offset, ")", false);
  if (token.kind == Token::Kind::name) return parse_name(token);
  Cell cell;
  if (token.kind == Token::Kind::integer)
    cell = Cell::integer(token.number);
  else if (token.kind == Token::Kind::real)
    cell = Cell::real(token.real);
  else if (token.kind == Token::Kind::text)
    cell = {Cell::Type::text, 0, &token.text};
  else
    fail(fmt::format("expected a value, found {}", describe(token)));
  ++at_;
  return operand_of(nodes_.literal(cell, token.offset));
}

PythonOperand PythonParser::parse_name(const Token& token) {
  if (token.text == "True" || token.text == "False") {
    ++at_;
    return operand_of(nodes_.literal(Cell::boolean(token.text == "True"), token.offset));
  }
  if (is_keyword(token.text)) fail(fmt::format("expected a value, found {}", describe(token)));
  if (token.text.starts_with("__"))
    fail(fmt::format("{}: names with two leading underscores are not part of this language",
                     describe(token)));
  ++at_;
  if (take_symbol("(")) return parse_call(token);
  for (const auto& [name, value] : std::ranges::reverse_view(variables_))
    if (name == token.text) return operand_of(nodes_.copy(*value));
  return operand_of(
      nodes_.name(remember(token, expression_.names_, expression_.name_offsets_), token.offset));
}

PythonOperand PythonParser::parse_call(const Token& function) {
  if (!is_python_function(function.text))
    throw ExpressionError{function.offset, "unknown function " + quote_text(function.text) +
                                               did_you_mean(function.text, python_functions())};
  std::vector<PythonOperand> arguments;
  if (has_for()) {
    arguments.push_back(parse_items(function.offset, ")", true));
    arguments.back().is_generator = true;
  } else {
    while (!is_symbol(")")) {
      arguments.push_back(parse_choice());
      if (!take_symbol(",")) break;
    }
    want_symbol(")");
  }
  return call_python(nodes_, function, std::move(arguments));
}

PythonOperand PythonParser::parse_items(std::size_t offset, const char* close, bool is_list) {
  PythonOperand list = list_of(offset);
  if (const auto comprehension = has_for()) {
    const std::size_t body = at_;
    const std::size_t end = closing();
    read_clauses({body, *comprehension, end}, *comprehension, list);
    at_ = end;
    want_symbol(close);
    return list;
  }
  while (!is_symbol(close)) {
    PythonOperand item = parse_choice();
    const bool goes_on = take_symbol(",");
    if (!is_list && !goes_on && list.items.empty()) {
      want_symbol(close);
      return item;
    }
    list.items.push_back(scalar(std::move(item)));
    check_size(list);
    if (!goes_on) break;
  }
  want_symbol(close);
  return list;
}

std::optional<std::size_t> PythonParser::has_for() const {
  return scan(
      [](const Token& token, std::size_t open) { return open == 0 && is_word(token, "for"); });
}

std::size_t PythonParser::closing() const {
  const auto found = scan([](const Token& token, std::size_t open) {
    return open == 0 && (is_symbol(token, ")") || is_symbol(token, "]"));
  });
  if (!found) fail("the bracket is not closed");
  return *found;
}

void PythonParser::read_clauses(const Comprehension& comprehension, std::size_t at,
                                PythonOperand& list) {
  const Level level(*this);
  at_ = at;
  nodes_.work(next().offset);
  if (take_word("for")) return read_for(comprehension, list);
  if (take_word("if")) {
    const PythonChild condition = nodes_.truth(scalar(parse_or()));
    if (!is_known(*condition))
      throw ExpressionError{condition->offset,
                            "expected a condition that is known before any parameter is"};
    if (condition->literal.number != 0) read_clauses(comprehension, at_, list);
    return;
  }
  if (at_ != comprehension.end)
    fail(fmt::format("expected 'for', 'if' or the closing bracket, found {}", describe(next())));
  at_ = comprehension.body;
  list.items.push_back(scalar(parse_choice()));
  check_size(list);
  if (at_ != comprehension.clauses) fail(fmt::format("expected 'for', found {}", describe(next())));
}

void PythonParser::read_for(const Comprehension& comprehension, PythonOperand& list) {
  const Token variable = next();
  if (variable.kind != Token::Kind::name || is_keyword(variable.text))
    fail(fmt::format("expected a name, found {}", describe(variable)));
  ++at_;
  want_word("in");
  const PythonOperand over = parse_or();
  if (!over.is_list())
    throw ExpressionError{over.offset, "expected a list, tuple or range after 'in'"};
  const std::size_t rest = at_;
  for (const PythonChild& item : over.items) {
    variables_.emplace_back(variable.text, item.get());
    read_clauses(comprehension, rest, list);
    variables_.pop_back();
  }
}

}  // namespace fa_tune::expression
