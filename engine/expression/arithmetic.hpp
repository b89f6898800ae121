#pragma once

#include <cstdint>

#include "engine/expression/node.hpp"

// Private to engine/space: what the operations on two 64-bit integers give. Who evaluates a tree
// and who evaluates its parts while a space is built must agree on it.
namespace fa_tune::expression {

enum class ArithmeticFault : std::uint8_t { none, overflow, division_by_zero };

struct ArithmeticResult {
  std::int64_t number = 0;
  ArithmeticFault fault = ArithmeticFault::none;
};

// Whether combine_integers knows the operation.
inline bool is_arithmetic(Operation operation) {
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::floor_divide:
    case Operation::ceil_divide:
    case Operation::modulo:
    case Operation::python_modulo:
      return true;
    default:
      return false;
  }
}

inline ArithmeticResult divide_integers(Operation operation, std::int64_t a, std::int64_t b) {
  if (b == 0) return {0, ArithmeticFault::division_by_zero};
  if (b == -1) {
    // The one quotient beyond 64 bits is -2^63 / -1; the machine traps on its remainder too.
    if (operation == Operation::modulo || operation == Operation::python_modulo) return {};
    if (a == INT64_MIN) return {0, ArithmeticFault::overflow};
    return {-a};
  }
  const std::int64_t quotient = a / b;
  const std::int64_t remainder = a % b;
  const bool negative = (a < 0) != (b < 0);
  if (operation == Operation::modulo) return {remainder};
  if (operation == Operation::python_modulo)
    return {remainder != 0 && negative ? remainder + b : remainder};
  if (operation == Operation::floor_divide && remainder != 0 && negative) return {quotient - 1};
  if (operation == Operation::ceil_divide && remainder != 0 && !negative) return {quotient + 1};
  return {quotient};
}

inline ArithmeticResult combine_integers(Operation operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflowed = false;
  if (operation == Operation::add)
    overflowed = __builtin_add_overflow(a, b, &result);
  else if (operation == Operation::subtract)
    overflowed = __builtin_sub_overflow(a, b, &result);
  else if (operation == Operation::multiply)
    overflowed = __builtin_mul_overflow(a, b, &result);
  else
    return divide_integers(operation, a, b);
  return {result, overflowed ? ArithmeticFault::overflow : ArithmeticFault::none};
}

template <typename T>
bool compare_values(ComparisonOperator comparison, const T& a, const T& b) {
  switch (comparison) {
    case ComparisonOperator::equal:
      return a == b;
    case ComparisonOperator::unequal:
      return a != b;
    case ComparisonOperator::less:
      return a < b;
    case ComparisonOperator::less_equal:
      return a <= b;
    case ComparisonOperator::greater:
      return a > b;
    case ComparisonOperator::greater_equal:
      break;
  }
  return a >= b;
}

}  // namespace fa_tune::expression
