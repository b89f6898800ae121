#include "engine/expression/expression.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/expression/arithmetic.hpp"
#include "engine/expression/node.hpp"
#include "engine/expression/python_arithmetic.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {
namespace {

using Node = Expression::Node;

const char* type_name(Cell::Type type) {
  switch (type) {
    case Cell::Type::integer:
      return "an integer";
    case Cell::Type::boolean:
      return "true or false";
    case Cell::Type::text:
      return "text";
    case Cell::Type::real:
      return "a real number";
    case Cell::Type::absent:
      break;
  }
  return "nothing";
}

// Thrown by an Evaluator of a single node: nobody reads a message.
struct NoValue {};

class Evaluator {
 public:
  // Of `node` alone, whose children have the values given.
  Evaluator(const Expression& expression, const Node& node, std::span<const Cell> children)
      : expression_(expression), alone_(&node), children_(children) {}

  Evaluator(const Expression& expression, std::span<const Cell> cells,
            std::span<const std::uint32_t> slots)
      : expression_(expression), cells_(cells), slots_(slots) {}

  Cell evaluate(const Node& node) const {
    if (alone_ != nullptr && alone_ != &node) return given(node);
    if (node.python) return evaluate_python(node);
    switch (node.operation) {
      case Operation::literal:
        return node.literal;
      case Operation::name:
        return lookup(node);
      case Operation::logical_not:
        return Cell::boolean(!boolean(*node.children[0]));
      case Operation::logical_and:
        return Cell::boolean(boolean(*node.children[0]) && boolean(*node.children[1]));
      case Operation::logical_or:
        return Cell::boolean(boolean(*node.children[0]) || boolean(*node.children[1]));
      case Operation::choose:
        return evaluate(*node.children[boolean(*node.children[0]) ? 1 : 2]);
      case Operation::compare:
        return Cell::boolean(compare(node));
      case Operation::in:
        return Cell::boolean(is_member(node));
      case Operation::not_in:
        return Cell::boolean(!is_member(node));
      case Operation::negate:
        return Cell::integer(minus(node, 0, integer(*node.children[0])));
      case Operation::absolute: {
        const std::int64_t number = integer(*node.children[0]);
        return Cell::integer(number < 0 ? minus(node, 0, number) : number);
      }
      case Operation::minimum:
      case Operation::maximum:
        return Cell::integer(extreme(node));
      default:
        return Cell::integer(
            arithmetic(node, integer(*node.children[0]), integer(*node.children[1])));
    }
  }

  // The operations whose operands Python takes in any type; the others are as above.
  Cell evaluate_python(const Node& node) const {
    const auto child = [&](std::size_t i) { return evaluate(*node.children[i]); };
    switch (node.operation) {
      case Operation::compare:
        return Cell::boolean(compare(node));
      case Operation::in:
        return Cell::boolean(is_member(node));
      case Operation::not_in:
        return Cell::boolean(!is_member(node));
      case Operation::truth:
        return Cell::boolean(python_truth(child(0)));
      case Operation::python_and: {
        const Cell first = child(0);
        return python_truth(first) ? child(1) : first;
      }
      case Operation::python_or: {
        const Cell first = child(0);
        return python_truth(first) ? first : child(1);
      }
      case Operation::minimum:
      case Operation::maximum:
        return python_extreme(node);
      case Operation::round_half_even:
        if (node.children.size() == 2) return value_of(node, python_round(child(0), child(1)));
        [[fallthrough]];
      case Operation::negate:
      case Operation::absolute:
      case Operation::to_integer:
      case Operation::to_real:
        return value_of(node, python_unary(node.operation, child(0)));
      default: {
        const Cell first = child(0);
        return value_of(node, python_binary(node.operation, first, child(1)));
      }
    }
  }

  bool boolean(const Node& node) const {
    const Cell cell = evaluate(node);
    if (cell.type != Cell::Type::boolean) wrong_type(node, "true or false", cell);
    return cell.number != 0;
  }

  std::int64_t integer(const Node& node) const {
    const Cell cell = evaluate(node);
    if (cell.type != Cell::Type::integer) wrong_type(node, "an integer", cell);
    return cell.number;
  }

 private:
  Cell given(const Node& child) const {
    std::size_t i = 0;
    while (alone_->children[i].get() != &child) ++i;
    if (!children_[i].exists()) throw NoValue{};
    return children_[i];
  }

  Cell lookup(const Node& node) const {
    const Cell cell = cells_[slots_[node.name]];
    if (!cell.exists()) fail(node, quote_text(expression_.names()[node.name]) + " has no value");
    return cell;
  }

  Cell value_of(const Node& node, const PythonResult& result) const {
    if (!result) fail(node, result.error());
    return *result;
  }

  bool python_holds(const Node& node, ComparisonOperator comparison, const Cell& a,
                    const Cell& b) const {
    const auto result = python_compare(comparison, a, b);
    if (!result) fail(node, result.error());
    return *result;
  }

  Cell python_extreme(const Node& node) const {
    const ComparisonOperator better = node.operation == Operation::minimum
                                          ? ComparisonOperator::less
                                          : ComparisonOperator::greater;
    Cell best = evaluate(*node.children[0]);
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const Cell cell = evaluate(*node.children[i]);
      if (python_holds(node, better, cell, best)) best = cell;
    }
    return best;
  }

  bool equal(const Node& node, const Cell& a, const Cell& b) const {
    if (node.python) return python_holds(node, ComparisonOperator::equal, a, b);
    if (a.type != b.type)
      fail(node, fmt::format("cannot compare {} with {}: {} and {}", type_name(a.type),
                             type_name(b.type), to_text(a.value()), to_text(b.value())));
    if (a.type == Cell::Type::text) return *a.text == *b.text;
    return a.type == Cell::Type::real ? a.real() == b.real() : a.number == b.number;
  }

  bool compare(const Node& node) const {
    Cell left = evaluate(*node.children[0]);
    for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
      const Node& right_node = *node.children[i + 1];
      const Cell right = evaluate(right_node);
      if (!holds(node, node.comparisons[i], left, right)) return false;
      left = right;
    }
    return true;
  }

  bool holds(const Node& node, ComparisonOperator comparison, const Cell& a, const Cell& b) const {
    if (node.python) return python_holds(node, comparison, a, b);
    if (comparison == ComparisonOperator::equal) return equal(node, a, b);
    if (comparison == ComparisonOperator::unequal) return !equal(node, a, b);
    if (a.type != Cell::Type::integer) wrong_type(node, "integers to order", a);
    if (b.type != Cell::Type::integer) wrong_type(node, "integers to order", b);
    return compare_values(comparison, a.number, b.number);
  }

  bool is_member(const Node& node) const {
    const Cell wanted = evaluate(*node.children[0]);
    bool found = false;
    // In Python the whole list is made before anything is looked for in it.
    for (std::size_t i = 1; i < node.children.size() && (!found || node.python); ++i)
      found = equal(node, wanted, evaluate(*node.children[i])) || found;
    return found;
  }

  std::int64_t extreme(const Node& node) const {
    std::int64_t best = integer(*node.children[0]);
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const std::int64_t number = integer(*node.children[i]);
      best = node.operation == Operation::minimum ? std::min(best, number) : std::max(best, number);
    }
    return best;
  }

  std::int64_t minus(const Node& node, std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(a, b, &result)) overflow(node);
    return result;
  }

  std::int64_t arithmetic(const Node& node, std::int64_t a, std::int64_t b) const {
    const ArithmeticResult result = combine_integers(node.operation, a, b);
    if (result.fault == ArithmeticFault::overflow) overflow(node);
    if (result.fault == ArithmeticFault::division_by_zero) fail(node, "division by zero");
    return result.number;
  }

  [[noreturn]] void overflow(const Node& node) const { fail(node, "the result is beyond 64 bits"); }

  [[noreturn]] void wrong_type(const Node& node, const char* wanted, const Cell& found) const {
    fail(node, fmt::format("expected {}, found {}", wanted, to_text(found.value())));
  }

  [[noreturn]] void fail(const Node& node, const std::string& message) const {
    if (alone_ != nullptr) throw NoValue{};
    std::string values;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Cell cell = cells_[slots_[i]];
      if (!cell.exists()) continue;
      values += values.empty() ? ", where " : ", ";
      values += expression_.names()[i] + " = " + to_text(cell.value());
    }
    throw UserError(prefix(expression_.mark_at(node.offset)) + message + " in " +
                    quote_text(expression_.text()) + values);
  }

  const Expression& expression_;
  std::span<const Cell> cells_;
  std::span<const std::uint32_t> slots_;
  const Node* alone_ = nullptr;
  std::span<const Cell> children_;
};

// The names of an expression looked up once: the cells of an Evaluator, in the order of names().
struct Lookup {
  std::vector<Cell> cells;
  std::vector<std::uint32_t> slots;

  Lookup(const Expression& expression, const Expression::Scope& scope) {
    for (const std::string& name : expression.names()) {
      const Value* value = scope ? scope(name) : nullptr;
      cells.push_back(value == nullptr ? Cell{} : Cell::of(*value));
    }
    for (std::uint32_t i = 0; i < cells.size(); ++i) slots.push_back(i);
  }
};

}  // namespace

Cell Cell::of(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return integer(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return boolean(*flag);
  if (const auto* number = std::get_if<double>(&value)) return real(*number);
  return {Type::text, 0, &std::get<std::string>(value)};
}

Value Cell::value() const {
  if (type == Type::integer) return number;
  if (type == Type::boolean) return number != 0;
  if (type == Type::real) return real();
  return *text;
}

Cell evaluate_cells(const Expression& expression, std::span<const Cell> cells,
                    std::span<const std::uint32_t> slots) {
  return Evaluator(expression, cells, slots).evaluate(expression.root());
}

bool evaluate_cells_bool(const Expression& expression, std::span<const Cell> cells,
                         std::span<const std::uint32_t> slots) {
  return Evaluator(expression, cells, slots).boolean(expression.root());
}

std::optional<Cell> evaluate_node(const Expression& expression, const Expression::Node& node,
                                  std::span<const Cell> children) {
  try {
    return Evaluator(expression, node, children).evaluate(node);
  } catch (const NoValue&) {
    return std::nullopt;
  }
}

Value Expression::evaluate(const Scope& scope) const {
  const Lookup lookup(*this, scope);
  return Evaluator(*this, lookup.cells, lookup.slots).evaluate(*root_).value();
}

bool Expression::evaluate_bool(const Scope& scope) const {
  const Lookup lookup(*this, scope);
  return Evaluator(*this, lookup.cells, lookup.slots).boolean(*root_);
}

std::int64_t Expression::evaluate_integer(const Scope& scope) const {
  const Lookup lookup(*this, scope);
  return Evaluator(*this, lookup.cells, lookup.slots).integer(*root_);
}

}  // namespace fa_tune::expression
