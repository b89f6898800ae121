#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expression/lexer.hpp"
#include "engine/expression/python_operand.hpp"

// Private to engine/space.
namespace fa_tune::expression {

// Recursive descent, one function a level of precedence, loosest first: if-else, or, and, not,
// comparison and in, + -, * / // %, unary - +, **, primary. The body of a comprehension stands
// before its variables: it is read anew for each value that they take.
class PythonParser : private TokenCursor {
 public:
  explicit PythonParser(Expression& expression)
      : TokenCursor(tokenize(expression.text_, Dialect::python)),
        expression_(expression),
        nodes_(expression) {}

  static Expression scalar_expression(const std::string& text, const Mark& mark, bool condition);
  static std::vector<Value> values(const std::string& text, const Mark& mark);

 private:
  static Expression start(const std::string& text, const Mark& mark);
  // Makes what goes wrong in `action` an error with its place in the text.
  template <typename Action>
  static void read(const Expression& expression, Action action) {
    try {
      action();
    } catch (const ExpressionError& error) {
      refuse_expression(expression, error);
    }
  }

  PythonOperand run();

  static PythonOperand operand_of(PythonChild node) {
    PythonOperand operand;
    operand.offset = node->offset;
    operand.node = std::move(node);
    return operand;
  }
  static PythonOperand list_of(std::size_t offset) {
    PythonOperand operand;
    operand.offset = offset;
    return operand;
  }
  static PythonChild scalar(PythonOperand operand) {
    if (operand.is_list())
      throw ExpressionError{operand.offset, "expected a value here, not a list"};
    return std::move(operand.node);
  }

  template <typename... Children>
  PythonOperand make(Operation operation, std::size_t offset, Children... children) {
    std::vector<PythonChild> list;
    (list.push_back(std::move(children)), ...);
    return operand_of(nodes_.make(operation, offset, std::move(list)));
  }

  // By precedence, in python_parser.cpp.
  PythonOperand parse_choice();
  // `and` and `or` give one of their operands; between truths that is what they do everywhere.
  PythonOperand join(Operation logical, Operation general, std::size_t offset, PythonOperand left,
                     PythonOperand right);
  PythonOperand parse_or();
  PythonOperand parse_and();
  PythonOperand parse_not();
  PythonOperand parse_comparison();
  PythonOperand parse_membership(PythonOperand wanted);
  PythonOperand parse_sum();
  PythonOperand parse_product();
  PythonOperand repeat(const PythonOperand& list, const PythonOperand& times);
  void check_size(const PythonOperand& list) const;
  PythonOperand parse_unary();
  PythonOperand parse_power();

  // Single values and lists, in python_items.cpp.
  PythonOperand parse_primary();
  PythonOperand parse_atom(const Token& token);
  PythonOperand parse_name(const Token& token);
  PythonOperand parse_call(const Token& function);
  // Behind an opening bracket: a list, a tuple, a comprehension or, in parentheses, a value.
  PythonOperand parse_items(std::size_t offset, const char* close, bool is_list);
  // Calls `visit` with each token from here to the bracket that closes this one, and with how many
  // brackets are open there; stops where it returns true.
  template <typename Visit>
  std::optional<std::size_t> scan(Visit visit) const {
    std::size_t open = 0;
    for (std::size_t i = at_; tokens_[i].kind != Token::Kind::end; ++i) {
      const Token& token = tokens_[i];
      if (visit(token, open)) return i;
      if (is_symbol(token, "(") || is_symbol(token, "[")) ++open;
      if (is_symbol(token, ")") || is_symbol(token, "]")) {
        if (open == 0) return std::nullopt;
        --open;
      }
    }
    return std::nullopt;
  }

  // Where the `for` of a comprehension stands that begins here, and the bracket that closes this
  // one.
  std::optional<std::size_t> has_for() const;
  std::size_t closing() const;
  // Tokens of a comprehension.
  struct Comprehension {
    std::size_t body;
    std::size_t clauses;
    std::size_t end;
  };

  void read_clauses(const Comprehension& comprehension, std::size_t at, PythonOperand& list);
  void read_for(const Comprehension& comprehension, PythonOperand& list);

  Expression& expression_;
  PythonNodes nodes_;
  std::vector<std::pair<std::string, const Expression::Node*>> variables_;
};

}  // namespace fa_tune::expression
