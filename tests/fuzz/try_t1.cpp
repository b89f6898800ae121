#include "tests/fuzz/try_t1.hpp"

#include <array>

#include "engine/expression/python_expression.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
namespace {

const std::array<Value, 5> kTried = {std::int64_t{16}, std::int64_t{-3}, true, 0.5,
                                     std::string("half")};

std::string try_values(const std::string& text) {
  try {
    return std::to_string(parse_python_values(text).size()) + " values";
  } catch (const UserError&) {
    return "no values";
  }
}

std::string try_condition(const std::string& text) {
  try {
    const Expression condition = parse_python_condition(text);
    int held = 0;
    for (const Value& value : kTried) {
      try {
        held += condition.evaluate_bool([&](const std::string&) { return &value; }) ? 1 : 0;
      } catch (const UserError&) {
        continue;
      }
    }
    return "holds " + std::to_string(held);
  } catch (const UserError&) {
    return "no condition";
  }
}

}  // namespace

std::string try_t1(std::string_view text) {
  const std::string copy(text);
  return try_values(copy) + ", " + try_condition(copy);
}

}  // namespace fa_tune::test
