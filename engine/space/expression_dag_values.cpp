// What the terms of an expression_dag come to, and the ranges of that.

#include <array>
#include <span>
#include <vector>

#include "engine/expression/arithmetic.hpp"
#include "engine/space/expression_dag.hpp"

namespace fa_tune::space {
namespace {

using TermKind = Term::Kind;

// What the children of a term have, side by side; few have more than eight children.
template <typename T>
class Gathered {
 public:
  Gathered(std::span<const TermId> children, std::span<const T> all) : size_(children.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    T* out = size_ > few_.size() ? many_.data() : few_.data();
    for (std::size_t i = 0; i < size_; ++i) out[i] = all[children[i]];
  }
  std::span<const T> span() const {
    return {size_ > few_.size() ? many_.data() : few_.data(), size_};
  }

 private:
  std::size_t size_;
  std::array<T, 8> few_;
  std::vector<T> many_;
};

bool is_true(const expression::Cell& cell) {
  return cell.type == expression::Cell::Type::boolean && cell.number != 0;
}
bool is_false(const expression::Cell& cell) {
  return cell.type == expression::Cell::Type::boolean && cell.number == 0;
}

}  // namespace

expression::Range Terms::parameter_range(std::size_t parameter) const {
  expression::Range range = expression::Range::of(cells_[parameter][0]);
  for (const expression::Cell& cell : cells_[parameter])
    range = range | expression::Range::of(cell);
  return range;
}

expression::Cell Terms::compute(TermId id, std::span<const expression::Cell> values) const {
  const Term& term = terms_[id];
  switch (term.kind) {
    case TermKind::literal:
      return term.literal;
    case TermKind::all: {
      for (const TermId child : term.children)
        if (!is_true(values[child]))
          return is_false(values[child]) ? values[child] : expression::Cell{};
      return expression::Cell::boolean(true);
    }
    case TermKind::is_text: {
      const expression::Cell& cell = values[term.children[0]];
      return expression::Cell::boolean(cell.type == expression::Cell::Type::text &&
                                       cell.text == term.literal.text);
    }
    case TermKind::pick:
      return compute_pick(term, values);
    default:
      return compute_node(term, values);
  }
}

expression::Cell Terms::compute_pick(const Term& term,
                                     std::span<const expression::Cell> values) const {
  for (std::size_t i = 0; i < term.children.size(); i += 2) {
    const expression::Cell& condition = values[term.children[i]];
    if (is_true(condition)) return values[term.children[i + 1]];
    if (!is_false(condition)) break;
  }
  return {};
}

// The most frequent cases first, as evaluate_node has them too.
expression::Cell Terms::compute_node(const Term& term,
                                     std::span<const expression::Cell> values) const {
  const expression::Expression::Node& node = *term.node;
  if (term.children.size() == 2) {
    const expression::Cell& a = values[term.children[0]];
    const expression::Cell& b = values[term.children[1]];
    if (a.type == expression::Cell::Type::integer && b.type == expression::Cell::Type::integer) {
      if (expression::is_arithmetic(node.operation)) {
        const expression::ArithmeticResult result =
            expression::combine_integers(node.operation, a.number, b.number);
        return result.fault == expression::ArithmeticFault::none
                   ? expression::Cell::integer(result.number)
                   : expression::Cell{};
      }
      if (node.operation == expression::Operation::compare)
        return expression::Cell::boolean(
            expression::compare_values(node.comparisons[0], a.number, b.number));
    }
    if (a.type == expression::Cell::Type::boolean && b.type == expression::Cell::Type::boolean) {
      if (node.operation == expression::Operation::logical_and) return a.number == 0 ? a : b;
      if (node.operation == expression::Operation::logical_or) return a.number != 0 ? a : b;
    }
  }
  const Gathered<expression::Cell> children(term.children, values);
  return expression::evaluate_node(*term.expression, node, children.span())
      .value_or(expression::Cell{});
}

expression::Range Terms::compute_range(TermId id, std::span<const expression::Range> ranges) const {
  const Term& term = terms_[id];
  switch (term.kind) {
    case TermKind::literal:
      return expression::Range::of(term.literal);
    case TermKind::is_text:
      return expression::Range::truths(true, true);
    case TermKind::pick: {
      expression::Range result = expression::Range::anything();
      for (std::size_t i = term.children.size(); i > 0; i -= 2) {
        const expression::Range& condition = ranges[term.children[i - 2]];
        const expression::Range& value = ranges[term.children[i - 1]];
        if (condition.decided_as(true) || i == term.children.size())
          result = value;
        else if (!condition.decided_as(false))
          result = result | value;
        result.may_fail = result.may_fail || condition.may_fail;
      }
      return result;
    }
    default:
      break;
  }
  const Gathered<expression::Range> children(term.children, ranges);
  return term.kind == TermKind::all ? expression::range_of_all(children.span())
                                    : expression::range_of(*term.node, children.span());
}

}  // namespace fa_tune::space
