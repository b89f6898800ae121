#include "engine/expression/python_parser.hpp"

#include <algorithm>
#include <iterator>

#include "engine/expression/python_expression.hpp"

namespace fa_tune::expression {
namespace {

constexpr std::size_t kLongestPython = 100'000;
constexpr std::size_t kMostItems = 100'000;

}  // namespace

Expression PythonParser::scalar_expression(const std::string& text, const Mark& mark,
                                           bool condition) {
  Expression expression = start(text, mark);
  read(expression, [&] {
    PythonParser parser(expression);
    PythonChild root = parser.scalar(parser.run());
    expression.root_ = condition ? parser.nodes_.truth(std::move(root)) : std::move(root);
  });
  return expression;
}

std::vector<Value> PythonParser::values(const std::string& text, const Mark& mark) {
  Expression expression = start(text, mark);
  std::vector<PythonChild> items;
  read(expression, [&] {
    PythonParser parser(expression);
    PythonOperand operand = parser.run();
    items = std::move(operand.items);
    if (!operand.is_list()) items.push_back(std::move(operand.node));
  });
  std::vector<Value> result;
  for (PythonChild& item : items) {
    // A name, or an operation that fails: evaluating it says which.
    expression.root_ = std::move(item);
    result.push_back(expression.evaluate({}));
  }
  return result;
}

Expression PythonParser::start(const std::string& text, const Mark& mark) {
  Expression expression;
  expression.text_ = text;
  expression.mark_ = mark;
  if (text.size() > kLongestPython)
    throw UserError(prefix(mark) +
                    fmt::format("the expression is longer than {} characters", kLongestPython));
  return expression;
}

PythonOperand PythonParser::run() {
  PythonOperand operand = parse_choice();
  // A tuple needs no parentheses.
  if (is_symbol(",")) {
    PythonOperand tuple = list_of(operand.offset);
    tuple.items.push_back(scalar(std::move(operand)));
    while (take_symbol(",") && next().kind != Token::Kind::end)
      tuple.items.push_back(scalar(parse_choice()));
    operand = std::move(tuple);
  }
  want_end();
  return operand;
}

PythonOperand PythonParser::parse_choice() {
  const Level level(*this);
  PythonOperand value = parse_or();
  const std::size_t offset = next().offset;
  if (!take_word("if")) return value;
  PythonChild condition = nodes_.truth(scalar(parse_or()));
  want_word("else");
  PythonOperand otherwise = parse_choice();
  if (is_known(*condition))
    return condition->literal.number != 0 ? std::move(value) : std::move(otherwise);
  return make(Operation::choose, offset, std::move(condition), scalar(std::move(value)),
              scalar(std::move(otherwise)));
}

PythonOperand PythonParser::join(Operation logical, Operation general, std::size_t offset,
                                 PythonOperand left, PythonOperand right) {
  PythonChild one = scalar(std::move(left));
  PythonChild other = scalar(std::move(right));
  const bool truths = PythonNodes::is_boolean(*one) && PythonNodes::is_boolean(*other);
  return make(truths ? logical : general, offset, std::move(one), std::move(other));
}

PythonOperand PythonParser::parse_or() {
  PythonOperand left = parse_and();
  for (std::size_t offset = next().offset; take_word("or"); offset = next().offset)
    left = join(Operation::logical_or, Operation::python_or, offset, std::move(left), parse_and());
  return left;
}

PythonOperand PythonParser::parse_and() {
  PythonOperand left = parse_not();
  for (std::size_t offset = next().offset; take_word("and"); offset = next().offset)
    left =
        join(Operation::logical_and, Operation::python_and, offset, std::move(left), parse_not());
  return left;
}

PythonOperand PythonParser::parse_not() {
  const Level level(*this);
  const std::size_t offset = next().offset;
  if (take_word("not"))
    return make(Operation::logical_not, offset, nodes_.truth(scalar(parse_not())));
  return parse_comparison();
}

PythonOperand PythonParser::parse_comparison() {
  PythonOperand first = parse_sum();
  const std::size_t offset = next().offset;
  if (is_word("in") || is_word("not")) return parse_membership(std::move(first));
  if (!comparison_of(next())) return first;
  std::vector<PythonChild> operands;
  operands.push_back(scalar(std::move(first)));
  auto comparisons = take_comparisons([&] { operands.push_back(scalar(parse_sum())); });
  return operand_of(
      nodes_.make(Operation::compare, offset, std::move(operands), std::move(comparisons)));
}

PythonOperand PythonParser::parse_membership(PythonOperand wanted) {
  const std::size_t offset = next().offset;
  const bool negated = take_membership();
  PythonOperand list = parse_sum();
  if (!list.is_list())
    throw ExpressionError{list.offset, "expected a list, tuple or range after 'in'"};
  if (comparison_of(next()) || is_word("in"))
    fail("put parentheses around 'in' before comparing its result");
  std::vector<PythonChild> children = std::move(list.items);
  children.insert(children.begin(), scalar(std::move(wanted)));
  return operand_of(
      nodes_.make(negated ? Operation::not_in : Operation::in, offset, std::move(children)));
}

PythonOperand PythonParser::parse_sum() {
  PythonOperand left = parse_product();
  while (is_symbol("+") || is_symbol("-")) {
    const std::size_t offset = next().offset;
    const bool adds = take_symbol("+");
    if (!adds) ++at_;
    PythonOperand right = parse_product();
    if (adds && left.is_list() && right.is_list()) {
      std::ranges::move(right.items, std::back_inserter(left.items));
      check_size(left);
      continue;
    }
    left = make(adds ? Operation::add : Operation::subtract, offset, scalar(std::move(left)),
                scalar(std::move(right)));
  }
  return left;
}

PythonOperand PythonParser::parse_product() {
  constexpr std::pair<const char*, Operation> known[] = {{"*", Operation::multiply},
                                                         {"/", Operation::true_divide},
                                                         {"//", Operation::floor_divide},
                                                         {"%", Operation::python_modulo}};
  PythonOperand left = parse_unary();
  while (true) {
    const std::size_t offset = next().offset;
    const auto found = take_operator(known);
    if (!found) return left;
    PythonOperand right = parse_unary();
    if (*found == Operation::multiply && left.is_list() != right.is_list())
      left = repeat(left.is_list() ? left : right, left.is_list() ? right : left);
    else
      left = make(*found, offset, scalar(std::move(left)), scalar(std::move(right)));
  }
}

PythonOperand PythonParser::repeat(const PythonOperand& list, const PythonOperand& times) {
  if (!is_known(*times.node) || times.node->literal.type != Cell::Type::integer)
    throw ExpressionError{times.offset, "expected an integer that says how often"};
  PythonOperand result = list_of(list.offset);
  if (list.items.empty()) return result;
  for (std::int64_t i = 0; i < times.node->literal.number; ++i) {
    for (const PythonChild& item : list.items) result.items.push_back(nodes_.copy(*item));
    check_size(result);
  }
  return result;
}

void PythonParser::check_size(const PythonOperand& list) const {
  if (list.items.size() > kMostItems)
    throw ExpressionError{list.offset, fmt::format("a list of more than {} values", kMostItems)};
}

PythonOperand PythonParser::parse_unary() {
  const Level level(*this);
  const std::size_t offset = next().offset;
  if (take_symbol("-")) return make(Operation::negate, offset, scalar(parse_unary()));
  if (take_symbol("+")) {
    // Gives a number for a truth, as - does.
    return make(Operation::multiply, offset, nodes_.literal(Cell::integer(1), offset),
                scalar(parse_unary()));
  }
  return parse_power();
}

PythonOperand PythonParser::parse_power() {
  PythonOperand base = parse_primary();
  const std::size_t offset = next().offset;
  if (!take_symbol("**")) return base;
  return make(Operation::power, offset, scalar(std::move(base)), scalar(parse_unary()));
}

Expression parse_python_condition(const std::string& text, const Mark& mark) {
  return PythonParser::scalar_expression(text, mark, true);
}

Expression parse_python(const std::string& text, const Mark& mark) {
  return PythonParser::scalar_expression(text, mark, false);
}

std::vector<Value> parse_python_values(const std::string& text, const Mark& mark) {
  return PythonParser::values(text, mark);
}

}  // namespace fa_tune::expression
