#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/util/error.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::expression {

// `native` is the language of our own files, described at Expression; `python` the part of Python
// that T1 files use, described in python_expression.hpp.
enum class Dialect { native, python };

// A small language for constraints, derived values and launch geometry: 64-bit integers, booleans
// and strings; + - * / % (integer division truncates toward zero), comparisons (chained as in
// Python: 16 <= BLOCK_M < 128), == != on all types, and or not, `x in [a, b, c]`, `a if c else b`,
// min(...), max(...), ceil_div(a, b), abs(x), parentheses. Names may be dotted: device.sms,
// problem.Lq. Overflow and division by zero are errors, never wrap. Also `//`, division that rounds
// down, and `not in`. a % b goes with /: it has the sign of a. == of two types is an error.
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

  // Where a character of the text stands in the file, and where a name of names() first appears.
  Mark mark_at(std::size_t offset) const;
  Mark mark_of(const std::string& name) const;

  // The parsed form, known to engine/space alone (node.hpp).
  struct Node;
  const Node& root() const { return *root_; }

 private:
  friend class ExpressionParser;
  friend class PythonParser;

  Expression() = default;

  std::string text_;
  Mark mark_;
  std::vector<std::string> names_;
  std::vector<std::size_t> name_offsets_;
  std::shared_ptr<const Node> root_;
};

}  // namespace fa_tune::expression
