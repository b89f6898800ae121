#include "engine/expression/python_arithmetic.hpp"

#include <cmath>
#include <compare>
#include <limits>

#include "engine/expression/arithmetic.hpp"

namespace fa_tune::expression {
namespace {

// Holds every 64-bit integer and every double exactly, so that the two can be compared.
using LongDouble = long double;
static_assert(std::numeric_limits<LongDouble>::digits >= 63);

constexpr const char* kBeyond64Bits = "the result is beyond 64 bits";
constexpr const char* kNotFinite = "the result is no finite number";
constexpr const char* kByZero = "division by zero";
constexpr const char* kNoNumber = "expected a number, found text";

bool is_text(const Cell& cell) { return cell.type == Cell::Type::text; }
bool is_real(const Cell& cell) { return cell.type == Cell::Type::real; }
LongDouble wide(const Cell& cell) {
  return is_real(cell) ? LongDouble{cell.real()} : static_cast<LongDouble>(cell.number);
}
double real(const Cell& cell) {
  return is_real(cell) ? cell.real() : static_cast<double>(cell.number);
}

PythonResult finite(double number) {
  if (!std::isfinite(number)) return std::unexpected(kNotFinite);
  return Cell::real(number);
}

PythonResult integer(LongDouble number) {
  // 2^63 itself is the first that does not fit.
  if (!(number >= -0x1p63L && number < 0x1p63L)) return std::unexpected(kBeyond64Bits);
  return Cell::integer(static_cast<std::int64_t>(number));
}

PythonResult of_integers(Operation operation, std::int64_t a, std::int64_t b) {
  const ArithmeticResult result = combine_integers(operation, a, b);
  if (result.fault == ArithmeticFault::overflow) return std::unexpected(kBeyond64Bits);
  if (result.fault == ArithmeticFault::division_by_zero) return std::unexpected(kByZero);
  return Cell::integer(result.number);
}

// The remainder has the sign of the divisor, and quotient * b + remainder is a but for rounding.
double real_modulo(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

double real_floor_divide(double a, double b) {
  const double quotient = (a - real_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double below = std::floor(quotient);
  return quotient - below > 0.5 ? below + 1 : below;
}

PythonResult integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  // Past 64 steps only 0, 1 and -1 stay within 64 bits.
  if (exponent > 64 && base >= -1 && base <= 1) exponent = 64 + exponent % 2;
  for (std::int64_t i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result)) return std::unexpected(kBeyond64Bits);
  return Cell::integer(result);
}

PythonResult power(const Cell& a, const Cell& b) {
  if (!is_real(a) && !is_real(b) && b.number >= 0) return integer_power(a.number, b.number);
  if (real(a) == 0 && real(b) < 0) return std::unexpected(kByZero);
  return finite(std::pow(real(a), real(b)));
}

}  // namespace

bool python_truth(const Cell& cell) {
  if (is_text(cell)) return !cell.text->empty();
  return is_real(cell) ? cell.real() != 0 : cell.number != 0;
}

PythonResult python_binary(Operation operation, const Cell& a, const Cell& b) {
  if (is_text(a) || is_text(b)) return std::unexpected(kNoNumber);
  if (operation == Operation::power) return power(a, b);
  if (operation == Operation::true_divide) {
    if (wide(b) == 0) return std::unexpected(kByZero);
    return finite(static_cast<double>(wide(a) / wide(b)));
  }
  if (!is_real(a) && !is_real(b)) return of_integers(operation, a.number, b.number);
  switch (operation) {
    case Operation::add:
      return finite(real(a) + real(b));
    case Operation::subtract:
      return finite(real(a) - real(b));
    case Operation::multiply:
      return finite(real(a) * real(b));
    default:
      break;
  }
  if (real(b) == 0) return std::unexpected(kByZero);
  return finite(operation == Operation::python_modulo ? real_modulo(real(a), real(b))
                                                      : real_floor_divide(real(a), real(b)));
}

PythonResult python_unary(Operation operation, const Cell& a) {
  if (is_text(a)) return std::unexpected(kNoNumber);
  switch (operation) {
    case Operation::negate:
      return is_real(a) ? finite(-a.real()) : of_integers(Operation::subtract, 0, a.number);
    case Operation::absolute:
      if (is_real(a)) return finite(std::abs(a.real()));
      return a.number < 0 ? of_integers(Operation::subtract, 0, a.number) : Cell::integer(a.number);
    case Operation::to_real:
      return finite(real(a));
    case Operation::round_half_even:
      return integer(is_real(a) ? LongDouble{std::nearbyint(a.real())} : wide(a));
    default:
      return integer(is_real(a) ? LongDouble{std::trunc(a.real())} : wide(a));
  }
}

PythonResult python_round(const Cell& number, const Cell& decimals) {
  if (is_text(number) || is_text(decimals)) return std::unexpected(kNoNumber);
  if (is_real(decimals)) return std::unexpected("expected a whole number of decimals");
  constexpr std::int64_t most_decimals = 15;
  if (decimals.number < 0 || decimals.number > most_decimals)
    return std::unexpected("expected 0 to 15 decimals");
  if (!is_real(number)) return Cell::integer(number.number);
  const LongDouble scale = std::pow(LongDouble{10}, static_cast<LongDouble>(decimals.number));
  return finite(static_cast<double>(std::nearbyint(wide(number) * scale) / scale));
}

std::expected<bool, const char*> python_compare(ComparisonOperator comparison, const Cell& a,
                                                const Cell& b) {
  if (is_text(a) && is_text(b)) return compare_values(comparison, *a.text, *b.text);
  if (is_text(a) || is_text(b)) {
    if (comparison == ComparisonOperator::equal) return false;
    if (comparison == ComparisonOperator::unequal) return true;
    return std::unexpected("text and numbers have no order");
  }
  return compare_values(comparison, wide(a), wide(b));
}

}  // namespace fa_tune::expression
