#include "engine/expression/python_operand.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace fa_tune::expression {
namespace {

constexpr std::size_t kDeepest = 200;
// Nodes that one text may make; the largest values in use are ranges of some thousands.
constexpr std::size_t kMostWork = 1'000'000;

// Operations whose operands Python takes in any type.
bool mixes_types(Operation operation) {
  switch (operation) {
    case Operation::literal:
    case Operation::name:
    case Operation::logical_and:
    case Operation::logical_or:
    case Operation::logical_not:
    case Operation::choose:
      return false;
    default:
      return true;
  }
}

}  // namespace

void PythonNodes::work(std::size_t offset) {
  if (++worked_ > kMostWork)
    throw ExpressionError{offset, fmt::format("takes more than {} steps", kMostWork)};
}

PythonChild PythonNodes::literal(const Cell& cell, std::size_t offset) {
  work(offset);
  auto node = std::make_unique<Expression::Node>();
  node->offset = offset;
  node->literal = cell;
  if (cell.type == Cell::Type::text) {
    node->literal_text = *cell.text;
    node->literal.text = &node->literal_text;
  }
  return node;
}

PythonChild PythonNodes::name(std::size_t position, std::size_t offset) {
  work(offset);
  auto node = std::make_unique<Expression::Node>();
  node->operation = Operation::name;
  node->offset = offset;
  node->name = position;
  return node;
}

PythonChild PythonNodes::copy(const Expression::Node& from) {
  if (is_known(from)) return literal(from.literal, from.offset);
  work(from.offset);
  auto node = std::make_unique<Expression::Node>();
  node->operation = from.operation;
  node->python = from.python;
  node->offset = from.offset;
  node->depth = from.depth;
  node->name = from.name;
  node->comparisons = from.comparisons;
  for (const PythonChild& child : from.children) node->children.push_back(copy(*child));
  return node;
}

PythonChild PythonNodes::make(Operation operation, std::size_t offset,
                              std::vector<PythonChild> children,
                              std::vector<ComparisonOperator> comparisons) {
  work(offset);
  auto node = std::make_unique<Expression::Node>();
  node->operation = operation;
  node->python = mixes_types(operation);
  node->offset = offset;
  for (const PythonChild& child : children) node->depth = std::max(node->depth, child->depth + 1);
  if (node->depth > kDeepest)
    throw ExpressionError{offset, fmt::format("nested deeper than {} levels", kDeepest)};
  node->children = std::move(children);
  node->comparisons = std::move(comparisons);
  if (!std::ranges::all_of(node->children, [](const auto& child) { return is_known(*child); }))
    return node;
  std::vector<Cell> values;
  values.reserve(node->children.size());
  for (const PythonChild& child : node->children) values.push_back(child->literal);
  // What fails stays as it is, and says why where it is evaluated.
  const auto value = evaluate_node(expression_, *node, values);
  return value ? literal(*value, offset) : std::move(node);
}

bool PythonNodes::is_boolean(const Expression::Node& node) {
  switch (node.operation) {
    case Operation::literal:
      return node.literal.type == Cell::Type::boolean;
    case Operation::compare:
    case Operation::in:
    case Operation::not_in:
    case Operation::logical_and:
    case Operation::logical_or:
    case Operation::logical_not:
    case Operation::truth:
      return true;
    default:
      return false;
  }
}

PythonChild PythonNodes::truth(PythonChild node) {
  if (is_boolean(*node)) return node;
  const std::size_t offset = node->offset;
  std::vector<PythonChild> children;
  children.push_back(std::move(node));
  return make(Operation::truth, offset, std::move(children));
}

}  // namespace fa_tune::expression
