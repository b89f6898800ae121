#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "engine/expression/python_arithmetic.hpp"
#include "engine/expression/python_operand.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::expression {
namespace {

constexpr std::int64_t kLongestRange = 100'000;

class Call {
 public:
  Call(PythonNodes& nodes, const Token& function, std::vector<PythonOperand> arguments)
      : nodes_(nodes),
        name_(function.text),
        offset_(function.offset),
        arguments_(std::move(arguments)) {}

  PythonOperand run() {
    if (name_ == "range") return range();
    if (name_ == "list" || name_ == "tuple") return arguments_.empty() ? list({}) : list(items());
    if (name_ == "set") return list(unique(items()));
    if (name_ == "sorted") return list(sorted(items()));
    if (name_ == "len")
      return scalar(
          nodes_.literal(Cell::integer(static_cast<std::int64_t>(items().size())), offset_));
    if (name_ == "min") return extreme(Operation::minimum);
    if (name_ == "max") return extreme(Operation::maximum);
    if (name_ == "sum") return sum();
    if (name_ == "any") return truths(true);
    if (name_ == "all") return truths(false);
    if (name_ == "bool") return scalar(nodes_.truth(one_scalar()));
    if (name_ == "abs") return scalar(make(Operation::absolute, one_scalar()));
    if (name_ == "int") return scalar(make(Operation::to_integer, one_scalar()));
    if (name_ == "float") return scalar(make(Operation::to_real, one_scalar()));
    return round();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ExpressionError{offset_, name_ + ": " + message};
  }

  PythonOperand scalar(PythonChild node) const {
    PythonOperand operand;
    operand.node = std::move(node);
    operand.offset = offset_;
    return operand;
  }
  PythonOperand list(std::vector<PythonChild> items) const {
    PythonOperand operand;
    operand.items = std::move(items);
    operand.offset = offset_;
    return operand;
  }

  template <typename... Children>
  PythonChild make(Operation operation, Children... children) {
    std::vector<PythonChild> list;
    (list.push_back(std::move(children)), ...);
    return nodes_.make(operation, offset_, std::move(list));
  }

  // The one argument, a list.
  std::vector<PythonChild> items() {
    if (arguments_.size() != 1 || !arguments_[0].is_list())
      fail("expected one list, tuple or range");
    return std::move(arguments_[0].items);
  }

  PythonChild one_scalar() {
    if (arguments_.size() != 1 || arguments_[0].is_list()) fail("expected one value");
    return std::move(arguments_[0].node);
  }

  PythonOperand range() {
    if (arguments_.empty() || arguments_.size() > 3) fail("takes 1 to 3 integers");
    std::array<std::int64_t, 3> numbers = {};
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const PythonOperand& argument = arguments_[i];
      if (argument.is_list() || !is_known(*argument.node) ||
          argument.node->literal.type != Cell::Type::integer)
        fail("expected integers that are known before any parameter is");
      numbers[i] = argument.node->literal.number;
    }
    const bool has_start = arguments_.size() > 1;
    const std::int64_t start = has_start ? numbers[0] : 0;
    const std::int64_t stop = has_start ? numbers[1] : numbers[0];
    const std::int64_t step = arguments_.size() == 3 ? numbers[2] : 1;
    if (step == 0) fail("the step must not be 0");
    std::vector<PythonChild> items;
    for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
      if (std::cmp_greater_equal(items.size(), kLongestRange))
        fail(fmt::format("longer than {}", kLongestRange));
      items.push_back(nodes_.literal(Cell::integer(at), offset_));
      if (__builtin_add_overflow(at, step, &at)) break;
    }
    return list(std::move(items));
  }

  static bool less(const PythonChild& a, const PythonChild& b) {
    return python_compare(ComparisonOperator::less, a->literal, b->literal).value_or(false);
  }

  std::vector<PythonChild> sorted(std::vector<PythonChild> items) const {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!is_known(*items[i]) ||
          !python_compare(ComparisonOperator::less, items[0]->literal, items[i]->literal))
        fail("expected values that are known and have an order");
    std::ranges::stable_sort(items, less);
    return items;
  }

  // In order: a set of Python has none, and numbers are listed in theirs by all who read T1 files.
  std::vector<PythonChild> unique(std::vector<PythonChild> items) const {
    items = sorted(std::move(items));
    const auto rest = std::ranges::unique(
        items, [](const auto& a, const auto& b) { return !less(a, b) && !less(b, a); });
    items.erase(rest.begin(), rest.end());
    return items;
  }

  PythonOperand extreme(Operation operation) {
    std::vector<PythonChild> of;
    if (arguments_.size() == 1 && arguments_[0].is_list()) {
      of = std::move(arguments_[0].items);
    } else {
      for (PythonOperand& argument : arguments_) {
        if (argument.is_list() || arguments_.size() == 1) fail("expected values or one list");
        of.push_back(std::move(argument.node));
      }
    }
    if (of.empty()) fail("expected at least one value");
    if (of.size() == 1) return scalar(std::move(of[0]));
    return scalar(nodes_.make(operation, offset_, std::move(of)));
  }

  PythonOperand sum() {
    PythonChild total = nodes_.literal(Cell::integer(0), offset_);
    for (PythonChild& item : items())
      total = make(Operation::add, std::move(total), std::move(item));
    return scalar(std::move(total));
  }

  // any() looks for a true item, all() for a false one: in a list, all of whose items have a value,
  // or in a generator, up to the first that decides.
  PythonOperand truths(bool wanted) {
    const bool is_generator = !arguments_.empty() && arguments_[0].is_generator;
    const auto join = wanted ? Operation::logical_or : Operation::logical_and;
    std::vector<PythonChild> children;
    children.push_back(nodes_.literal(Cell::boolean(is_generator ? !wanted : wanted), offset_));
    for (PythonChild& item : items()) {
      PythonChild truth = nodes_.truth(std::move(item));
      if (is_generator)
        children[0] = make(join, std::move(children[0]), std::move(truth));
      else
        children.push_back(std::move(truth));
    }
    if (is_generator) return scalar(std::move(children[0]));
    return scalar(
        nodes_.make(wanted ? Operation::in : Operation::not_in, offset_, std::move(children)));
  }

  PythonOperand round() {
    if (arguments_.empty() || arguments_.size() > 2 ||
        std::ranges::any_of(arguments_, &PythonOperand::is_list))
      fail("expected a number and, if wanted, how many decimals");
    std::vector<PythonChild> children;
    for (PythonOperand& argument : arguments_) children.push_back(std::move(argument.node));
    return scalar(nodes_.make(Operation::round_half_even, offset_, std::move(children)));
  }

  PythonNodes& nodes_;
  const std::string& name_;
  std::size_t offset_;
  std::vector<PythonOperand> arguments_;
};

}  // namespace

const std::vector<std::string>& python_functions() {
  static const std::vector<std::string> names = {"abs", "all",    "any", "bool", "float", "int",
                                                 "len", "list",   "max", "min",  "range", "round",
                                                 "set", "sorted", "sum", "tuple"};
  return names;
}

bool is_python_function(const std::string& name) {
  return std::ranges::find(python_functions(), name) != python_functions().end();
}

PythonOperand call_python(PythonNodes& nodes, const Token& function,
                          std::vector<PythonOperand> arguments) {
  return Call(nodes, function, std::move(arguments)).run();
}

}  // namespace fa_tune::expression
