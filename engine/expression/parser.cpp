#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "engine/expression/lexer.hpp"
#include "engine/expression/node.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {
namespace {

constexpr std::size_t kLongestExpression = 4000;

struct Function {
  const char* name;
  Operation operation;
  std::size_t least_arguments;
  std::size_t most_arguments;
};
constexpr Function kFunctions[] = {
    {"min", Operation::minimum, 1, kLongestExpression},
    {"max", Operation::maximum, 1, kLongestExpression},
    {"ceil_div", Operation::ceil_divide, 2, 2},
    {"abs", Operation::absolute, 1, 1},
};

}  // namespace

const std::vector<std::string>& reserved_words() {
  static const std::vector<std::string> words = {"and",  "or",    "not", "in",  "if",       "else",
                                                 "true", "false", "min", "max", "ceil_div", "abs"};
  return words;
}

// Recursive descent, one function a level of precedence, loosest first: if-else, or, and, not,
// comparison and in, + -, * / // %, unary -, primary.
class ExpressionParser : private TokenCursor {
 public:
  using Node = Expression::Node;
  using Child = std::unique_ptr<const Node>;

  explicit ExpressionParser(Expression& expression)
      : TokenCursor(tokenize(expression.text_)), expression_(expression) {}

  void run() {
    Child root = parse_choice();
    want_end();
    expression_.root_ = std::move(root);
  }

 private:
  template <typename... Children>
  static Child make(Operation operation, std::size_t offset, Children... children) {
    std::vector<Child> list;
    (list.push_back(std::move(children)), ...);
    return make_list(operation, offset, std::move(list));
  }

  static Child make_list(Operation operation, std::size_t offset, std::vector<Child> children,
                         std::vector<ComparisonOperator> comparisons = {}) {
    auto node = std::make_unique<Node>();
    node->operation = operation;
    node->offset = offset;
    for (const Child& child : children) node->depth = std::max(node->depth, child->depth + 1);
    if (node->depth > kDeepest) throw ExpressionError{offset, too_deep()};
    node->children = std::move(children);
    node->comparisons = std::move(comparisons);
    return node;
  }

  Child parse_choice() {
    const Level level(*this);
    Child value = parse_or();
    const std::size_t offset = next().offset;
    if (!take_word("if")) return value;
    Child condition = parse_or();
    want_word("else");
    Child otherwise = parse_choice();
    return make(Operation::choose, offset, std::move(condition), std::move(value),
                std::move(otherwise));
  }

  Child parse_or() {
    Child left = parse_and();
    for (std::size_t offset = next().offset; take_word("or"); offset = next().offset)
      left = make(Operation::logical_or, offset, std::move(left), parse_and());
    return left;
  }

  Child parse_and() {
    Child left = parse_not();
    for (std::size_t offset = next().offset; take_word("and"); offset = next().offset)
      left = make(Operation::logical_and, offset, std::move(left), parse_not());
    return left;
  }

  Child parse_not() {
    const Level level(*this);
    const std::size_t offset = next().offset;
    if (take_word("not")) return make(Operation::logical_not, offset, parse_not());
    return parse_comparison();
  }

  Child parse_comparison() {
    Child first = parse_sum();
    const std::size_t offset = next().offset;
    if (is_word("in") || is_word("not")) return parse_membership(std::move(first));
    std::vector<Child> operands;
    operands.push_back(std::move(first));
    auto comparisons = take_comparisons([&] { operands.push_back(parse_sum()); });
    if (comparisons.empty()) return std::move(operands[0]);
    return make_list(Operation::compare, offset, std::move(operands), std::move(comparisons));
  }

  Child parse_membership(Child wanted) {
    const std::size_t offset = next().offset;
    const bool negated = take_membership();
    std::vector<Child> children;
    children.push_back(std::move(wanted));
    want_symbol("[");
    do children.push_back(parse_choice());
    while (take_symbol(","));
    want_symbol("]");
    if (comparison_of(next())) fail("put parentheses around 'in' before comparing its result");
    return make_list(negated ? Operation::not_in : Operation::in, offset, std::move(children));
  }

  Child parse_sum() {
    Child left = parse_product();
    while (is_symbol("+") || is_symbol("-")) {
      const std::size_t offset = next().offset;
      const Operation operation = is_symbol("+") ? Operation::add : Operation::subtract;
      ++at_;
      left = make(operation, offset, std::move(left), parse_product());
    }
    return left;
  }

  Child parse_product() {
    constexpr std::pair<const char*, Operation> known[] = {{"*", Operation::multiply},
                                                           {"/", Operation::divide},
                                                           {"//", Operation::floor_divide},
                                                           {"%", Operation::modulo}};
    Child left = parse_unary();
    while (true) {
      const std::size_t offset = next().offset;
      const auto found = take_operator(known);
      if (!found) return left;
      left = make(*found, offset, std::move(left), parse_unary());
    }
  }

  Child parse_unary() {
    const Level level(*this);
    const std::size_t offset = next().offset;
    if (take_symbol("-")) return make(Operation::negate, offset, parse_unary());
    return parse_primary();
  }

  Child parse_primary() {
    const Token token = next();
    if (take_symbol("(")) {
      Child inner = parse_choice();
      want_symbol(")");
      return inner;
    }
    auto node = std::make_unique<Node>();
    node->offset = token.offset;
    if (token.kind == Token::Kind::integer) {
      node->literal = Cell::integer(token.number);
    } else if (token.kind == Token::Kind::text) {
      node->literal_text = token.text;
      node->literal = {Cell::Type::text, 0, &node->literal_text};
    } else if (token.kind == Token::Kind::name) {
      return parse_word(token, std::move(node));
    } else {
      fail(fmt::format("expected a value, found {}", describe(token)));
    }
    ++at_;
    return node;
  }

  Child parse_word(const Token& token, std::unique_ptr<Node> node) {
    if (token.text == "true" || token.text == "false") {
      node->literal = Cell::boolean(token.text == "true");
      ++at_;
      return node;
    }
    for (const Function& function : kFunctions)
      if (token.text == function.name) return parse_call(function);
    const auto& words = reserved_words();
    if (std::ranges::find(words, token.text) != words.end())
      fail(fmt::format("expected a value, found {}", describe(token)));
    ++at_;
    if (is_symbol("(")) {
      std::vector<std::string> known;
      for (const Function& function : kFunctions) known.emplace_back(function.name);
      throw ExpressionError{token.offset, "unknown function " + quote_text(token.text) +
                                              did_you_mean(token.text, known)};
    }
    node->operation = Operation::name;
    node->name = remember(token, expression_.names_, expression_.name_offsets_);
    return node;
  }

  Child parse_call(const Function& function) {
    const std::size_t offset = next().offset;
    ++at_;
    want_symbol("(");
    std::vector<Child> arguments;
    if (!is_symbol(")")) {
      do arguments.push_back(parse_choice());
      while (take_symbol(","));
    }
    want_symbol(")");
    if (arguments.size() < function.least_arguments || arguments.size() > function.most_arguments)
      throw ExpressionError{
          offset, fmt::format("{} takes {}{} argument{}, found {}", function.name,
                              function.most_arguments == kLongestExpression ? "at least " : "",
                              function.least_arguments, function.least_arguments == 1 ? "" : "s",
                              arguments.size())};
    return make_list(function.operation, offset, std::move(arguments));
  }

  Expression& expression_;
};

Expression Expression::parse(const std::string& text, const Mark& mark) {
  Expression expression;
  expression.text_ = text;
  expression.mark_ = mark;
  if (text.size() > kLongestExpression)
    throw UserError(prefix(mark) +
                    fmt::format("the expression is longer than {} characters", kLongestExpression));
  try {
    ExpressionParser(expression).run();
  } catch (const ExpressionError& error) {
    refuse_expression(expression, error);
  }
  return expression;
}

Mark Expression::mark_at(std::size_t offset) const {
  Mark mark = mark_;
  if (mark.line == 0) return mark;
  const std::size_t end = std::min(offset, text_.size());
  const auto stop = text_.begin() + static_cast<std::ptrdiff_t>(end);
  const auto lines = std::count(text_.begin(), stop, '\n');
  mark.line += static_cast<int>(lines);
  if (mark.column == 0) return mark;
  if (lines == 0)
    mark.column += static_cast<int>(offset);
  else
    mark.column = static_cast<int>(end - text_.rfind('\n', end - 1));
  return mark;
}

Mark Expression::mark_of(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return mark_;
  return mark_at(name_offsets_[static_cast<std::size_t>(found - names_.begin())]);
}

}  // namespace fa_tune::expression
