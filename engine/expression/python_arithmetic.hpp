#pragma once

#include <expected>
#include <optional>

#include "engine/expression/node.hpp"

// Private to engine/space: what Python's operators give for values of any type (Python 3 language
// reference, 6. Expressions). Integers have 64 bits here: beyond them is an error, as is a real
// number that is not finite.
namespace fa_tune::expression {

// A value, or what is wrong, for a message.
using PythonResult = std::expected<Cell, const char*>;

bool python_truth(const Cell& cell);

// add, subtract, multiply, floor_divide, true_divide, python_modulo, power.
PythonResult python_binary(Operation operation, const Cell& a, const Cell& b);
// negate, absolute, to_integer, to_real, and round_half_even without decimals.
PythonResult python_unary(Operation operation, const Cell& a);
PythonResult python_round(const Cell& number, const Cell& decimals);

// Of values that have no order an error, unless only equality is asked for: 1 == 1.0 == True, and
// text differs from every number.
std::expected<bool, const char*> python_compare(ComparisonOperator comparison, const Cell& a,
                                                const Cell& b);

}  // namespace fa_tune::expression
