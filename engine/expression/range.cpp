#include "engine/expression/range.hpp"

#include <algorithm>
#include <optional>

#include "engine/expression/arithmetic.hpp"

namespace fa_tune::expression {
namespace {

using Kind = Range::Kind;
struct Truth {
  bool may_be_false = true;
  bool may_be_true = true;
};

Truth truth_of(const Range& range) { return {range.low == 0, range.high != 0}; }

Range with_failure(Range range, bool may_fail) {
  range.may_fail = range.may_fail || may_fail;
  return range;
}

Range failing_truths() { return with_failure(Range::truths(true, true), true); }

// The smallest and largest of what an operation gives at the corners of its operands' ranges: its
// extremes, for operations that only rise or only fall in each operand.
Range corners(Operation operation, const Range& a, const Range& b) {
  std::optional<Range> all;
  for (const std::int64_t left : {a.low, a.high})
    for (const std::int64_t right : {b.low, b.high}) {
      const ArithmeticResult result = combine_integers(operation, left, right);
      if (result.fault != ArithmeticFault::none) return Range::anything();
      const Range here = Range::integers(result.number, result.number);
      all = all ? *all | here : here;
    }
  return *all;
}

// The sign of a % b is that of a; |a % b| is less than |b| and at most |a|.
Range remainders(const Range& a, const Range& b) {
  if (a.low == a.high && b.low == b.high) return corners(Operation::modulo, a, b);
  if (a.low == INT64_MIN || b.low == INT64_MIN) return Range::integers(INT64_MIN, INT64_MAX);
  const std::int64_t most = std::max(std::abs(b.low), std::abs(b.high)) - 1;
  const std::int64_t least = std::min(std::abs(b.low), std::abs(b.high));
  if (a.low >= 0 && a.high < least) return a;
  return Range::integers(a.low >= 0 ? 0 : -std::min(most, -a.low),
                         a.high <= 0 ? 0 : std::min(most, a.high));
}

// The sign of Python's a % b is that of b, which is not 0.
Range python_remainders(const Range& a, const Range& b) {
  if (a.low == a.high && b.low == b.high) return corners(Operation::python_modulo, a, b);
  if (b.low < 0) return Range::integers(b.low + 1, 0);
  return a.low >= 0 && a.high < b.low ? a : Range::integers(0, b.high - 1);
}

Range arithmetic(Operation operation, const Range& a, const Range& b) {
  if (a.kind != Kind::integers || b.kind != Kind::integers) return Range::anything();
  const bool may_fail = a.may_fail || b.may_fail;
  const bool divides = operation != Operation::add && operation != Operation::subtract &&
                       operation != Operation::multiply;
  if (divides && b.low <= 0 && b.high >= 0) return Range::anything();
  if (operation == Operation::python_modulo) return with_failure(python_remainders(a, b), may_fail);
  return with_failure(operation == Operation::modulo ? remainders(a, b) : corners(operation, a, b),
                      may_fail);
}

Truth compare(ComparisonOperator comparison, const Range& a, const Range& b) {
  switch (comparison) {
    case ComparisonOperator::equal:
      return {a.low != a.high || b.low != b.high || a.low != b.low,
              a.low <= b.high && b.low <= a.high};
    case ComparisonOperator::unequal: {
      const Truth equal = compare(ComparisonOperator::equal, a, b);
      return {equal.may_be_true, equal.may_be_false};
    }
    case ComparisonOperator::less:
      return {a.high >= b.low, a.low < b.high};
    case ComparisonOperator::less_equal:
      return {a.high > b.low, a.low <= b.high};
    case ComparisonOperator::greater:
      return compare(ComparisonOperator::less, b, a);
    case ComparisonOperator::greater_equal:
      break;
  }
  return compare(ComparisonOperator::less_equal, b, a);
}

Range comparison(ComparisonOperator comparison, const Range& a, const Range& b) {
  const bool same =
      comparison == ComparisonOperator::equal || comparison == ComparisonOperator::unequal;
  if (a.kind == Kind::anything || a.kind != b.kind) return failing_truths();
  if (a.kind != Kind::integers && !same) return failing_truths();
  const Truth truth = a.kind == Kind::texts ? Truth{} : compare(comparison, a, b);
  return with_failure(Range::truths(truth.may_be_false, truth.may_be_true),
                      a.may_fail || b.may_fail);
}

// Short-circuit: what comes behind a part that is sure to decide is not evaluated.
Range all_of(std::span<const Range> parts) {
  bool may_be_true = true;
  bool may_be_false = false;
  bool may_fail = false;
  for (const Range& part : parts) {
    if (part.kind != Kind::truths) return failing_truths();
    const Truth truth = truth_of(part);
    may_fail = may_fail || part.may_fail;
    may_be_false = may_be_false || truth.may_be_false;
    may_be_true = may_be_true && truth.may_be_true;
    if (!truth.may_be_true) break;
  }
  return with_failure(Range::truths(may_be_false, may_be_true), may_fail);
}

Range negated(const Range& range) {
  if (range.kind != Kind::truths) return failing_truths();
  const Truth truth = truth_of(range);
  return with_failure(Range::truths(truth.may_be_true, truth.may_be_false), range.may_fail);
}

Range chain(const Expression::Node& node, std::span<const Range> children) {
  std::optional<Range> all;
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    const Range here = comparison(node.comparisons[i], children[i], children[i + 1]);
    const Range parts[] = {all.value_or(here), here};
    all = all_of(parts);
  }
  return *all;
}

Range membership(const Expression::Node& node, std::span<const Range> children) {
  bool may_be_true = false;
  bool is_true = false;
  bool may_fail = false;
  for (std::size_t i = 1; i < children.size(); ++i) {
    const Range equal = comparison(ComparisonOperator::equal, children[0], children[i]);
    may_fail = may_fail || equal.may_fail;
    may_be_true = may_be_true || equal.high != 0;
    is_true = is_true || equal.low != 0;
    // What is behind a sure member is not evaluated, but in Python.
    if (is_true && !node.python) break;
  }
  return with_failure(Range::truths(!is_true, may_be_true), may_fail);
}

Range extreme(Operation operation, std::span<const Range> children) {
  Range best = children[0];
  for (const Range& child : children) {
    if (child.kind != Kind::integers) return Range::anything();
    const bool least = operation == Operation::minimum;
    best.low = least ? std::min(best.low, child.low) : std::max(best.low, child.low);
    best.high = least ? std::min(best.high, child.high) : std::max(best.high, child.high);
    best.may_fail = best.may_fail || child.may_fail;
  }
  return best;
}

Range absolute(const Range& range) {
  if (range.kind != Kind::integers || range.low == INT64_MIN) return Range::anything();
  const std::int64_t low = std::abs(range.low);
  const std::int64_t high = std::abs(range.high);
  const bool spans_zero = range.low <= 0 && range.high >= 0;
  return with_failure(Range::integers(spans_zero ? 0 : std::min(low, high), std::max(low, high)),
                      range.may_fail);
}

Range choice(std::span<const Range> children) {
  const Range& condition = children[0];
  if (condition.kind != Kind::truths) return Range::anything();
  const Truth truth = truth_of(condition);
  const Range chosen = !truth.may_be_false  ? children[1]
                       : !truth.may_be_true ? children[2]
                                            : children[1] | children[2];
  return with_failure(chosen, condition.may_fail);
}

}  // namespace

Range Range::of(const Cell& cell) {
  switch (cell.type) {
    case Cell::Type::integer:
      return integers(cell.number, cell.number);
    case Cell::Type::boolean:
      return truths(cell.number == 0, cell.number != 0);
    case Cell::Type::text:
      return {Kind::texts, false, 0, 0};
    default:
      return with_failure(anything(), !cell.exists());
  }
}

Range Range::operator|(const Range& other) const {
  if (kind != other.kind) return with_failure(anything(), true);
  return {kind, may_fail || other.may_fail, std::min(low, other.low), std::max(high, other.high)};
}

Range range_of_all(std::span<const Range> children) { return all_of(children); }

Range range_of(const Expression::Node& node, std::span<const Range> children) {
  switch (node.operation) {
    case Operation::literal:
      return Range::of(node.literal);
    case Operation::negate: {
      const Range zero = Range::integers(0, 0);
      return arithmetic(Operation::subtract, zero, children[0]);
    }
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::floor_divide:
    case Operation::modulo:
    case Operation::ceil_divide:
    case Operation::python_modulo:
      return arithmetic(node.operation, children[0], children[1]);
    case Operation::absolute:
      return absolute(children[0]);
    case Operation::minimum:
    case Operation::maximum:
      return extreme(node.operation, children);
    case Operation::compare:
      return chain(node, children);
    case Operation::in:
      return membership(node, children);
    case Operation::not_in:
      return negated(membership(node, children));
    case Operation::logical_and:
      return all_of(children);
    case Operation::logical_or: {
      const Range parts[] = {negated(children[0]), negated(children[1])};
      return negated(all_of(parts));
    }
    case Operation::logical_not:
      return negated(children[0]);
    case Operation::choose:
      return choice(children);
    default:
      return Range::anything();
  }
}

}  // namespace fa_tune::expression
