#pragma once

#include <string>
#include <vector>

#include "engine/expression/expression.hpp"
#include "engine/yaml/value.hpp"

// The part of Python that the community's T1 files are written in: the values of a parameter
// ("[1, 2] + list(range(32, 1025, 32))") and conditions ("x % (y / 2) == 0 and z in [1, 2]").
//
// Integers (64 bits), real numbers, True, False and text; + - * / // % **, unary - and +; chained
// comparisons, in and not in; and, or, not, and `a if c else b`; lists, tuples and comprehensions
// with any number of `for` and `if`; abs, min, max, sum, len, round, int, float, bool, list, tuple,
// sorted, set, range, any, all. They mean what Python 3 means by them: floor division and remainder
// with the divisor's sign, true division always real, 1 == 1.0 == True.
//
// Nothing else runs: attributes, subscripts, other calls, lambda and names with two leading
// underscores are errors with their column. Lists are made while the text is read, from what is
// known then: a parameter may be an element, but not decide how many elements there are; len() does
// not ask whether they have values. Length,
// depth, elements and work are capped.
namespace fa_tune::expression {

// True where Python would take the value for true. Throws UserError with `mark` moved to the
// offending column.
Expression parse_python_condition(const std::string& text, const Mark& mark = {});
// An expression whose value is wanted as it is; it must not be a list.
Expression parse_python(const std::string& text, const Mark& mark = {});

// The values of a list, tuple or range that mentions no names, in its order; of one value, it
// alone. Throws UserError as above, and where an element has no value.
std::vector<Value> parse_python_values(const std::string& text, const Mark& mark = {});

}  // namespace fa_tune::expression
