#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/value.hpp"

namespace fa_tune {

// A small language for constraints, derived values and launch geometry: 64-bit integers, booleans
// and strings; + - * / % (integer division truncates toward zero), comparisons (chained as in
// Python: 16 <= BLOCK_M < 128), == != on all types, and or not, `x in [a, b, c]`, `a if c else b`,
// min(...), max(...), ceil_div(a, b), abs(x), parentheses. Names may be dotted: device.sms,
// problem.Lq. Overflow and division by zero are errors, never wrap.
class Expression {
 public:
  // Looks a name up; returns nullptr for a name that holds no value now (an inactive parameter).
  using Scope = std::function<const Value*(const std::string& name)>;

  // Throws UserError with `mark` moved to the offending column. Depth and length are capped.
  static Expression parse(const std::string& text, const Mark& mark = {});

  // The value. Throws UserError: unknown name, wrong type, overflow, division by zero.
  Value evaluate(const Scope& scope) const;
  // The same where a boolean or an integer is wanted; another type is a UserError.
  bool evaluate_bool(const Scope& scope) const;
  std::int64_t evaluate_integer(const Scope& scope) const;

  const std::string& text() const { return text_; }
  const Mark& mark() const { return mark_; }
  // The names it mentions, each once, in order of appearance.
  const std::vector<std::string>& names() const { return names_; }

  struct Node;

 private:
  Expression() = default;

  std::string text_;
  Mark mark_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace fa_tune
