#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/expression/expression.hpp"

// Private to engine/space: the tree behind an Expression and its evaluation without names, which a
// space does millions of times while it lists its configs.
namespace fa_tune::expression {

// A value that is cheap to copy: text is borrowed, from a Value or a literal that outlives it.
struct Cell {
  enum class Type : std::uint8_t { absent, integer, boolean, text, real };

  Type type = Type::absent;
  std::int64_t number = 0;  // of a boolean 0 or 1, of a real number its bits
  const std::string* text = nullptr;

  static Cell integer(std::int64_t number) { return {Type::integer, number, nullptr}; }
  static Cell boolean(bool flag) { return {Type::boolean, flag ? 1 : 0, nullptr}; }
  static Cell real(double number) {
    return {Type::real, std::bit_cast<std::int64_t>(number), nullptr};
  }
  // Borrows the string of `value`.
  static Cell of(const Value& value);

  bool exists() const { return type != Type::absent; }
  double real() const { return std::bit_cast<double>(number); }
  // Must exist.
  Value value() const;
};

enum class Operation : std::uint8_t {
  literal,
  name,
  negate,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  ceil_divide,
  absolute,
  minimum,
  maximum,
  compare,  // children a, b, c with comparisons a ? b ? c
  in,       // the first child among the others
  not_in,
  logical_and,
  logical_or,
  logical_not,
  choose,  // children: condition, value if true, value if false
  // Of the Python dialect alone.
  true_divide,    // always a real number
  python_modulo,  // has the sign of the divisor
  power,
  truth,       // whether a value counts as true
  python_and,  // the first that does not count as true, else the second
  python_or,   // the first that counts as true, else the second
  to_integer,  // towards zero
  to_real,
  round_half_even,  // children: number and, if there are two, how many decimals
};

enum class ComparisonOperator : std::uint8_t {
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal
};

struct Expression::Node {
  Operation operation = Operation::literal;
  // Numbers and truths of all types mix as in Python; of two integers an operation gives the same.
  bool python = false;
  std::size_t offset = 0;  // of the character an error about this node points at
  std::size_t depth = 1;
  std::size_t name = 0;  // position in Expression::names()
  Cell literal;
  std::string literal_text;  // what `literal` borrows
  std::vector<ComparisonOperator> comparisons;
  std::vector<std::unique_ptr<const Node>> children;
};

// Evaluates with the value of names()[i] in cells[slots[i]]. Throws as Expression::evaluate does;
// the message tells the values of the names.
Cell evaluate_cells(const Expression& expression, std::span<const Cell> cells,
                    std::span<const std::uint32_t> slots);
// The same where true or false is wanted.
bool evaluate_cells_bool(const Expression& expression, std::span<const Cell> cells,
                         std::span<const std::uint32_t> slots);

// One node alone, which is no name, with the values of its children; an absent cell stands for a
// child that fails. Nothing where the node fails: it needs such a child (`or` does not always), or
// evaluate_cells would throw.
std::optional<Cell> evaluate_node(const Expression& expression, const Expression::Node& node,
                                  std::span<const Cell> children);

// Words with a meaning of their own, which no parameter may be called.
const std::vector<std::string>& reserved_words();

}  // namespace fa_tune::expression
