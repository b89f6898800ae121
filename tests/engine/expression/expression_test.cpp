#include "engine/expression/expression.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;

namespace {

const std::map<std::string, Value> kValues = {{"BLOCK_M", std::int64_t{64}},
                                              {"WARPS", std::int64_t{4}},
                                              {"zero", std::int64_t{0}},
                                              {"huge", INT64_MAX},
                                              {"tiny", INT64_MIN},
                                              {"on", true},
                                              {"off", false},
                                              {"template", std::string("mma")},
                                              {"device.sms", std::int64_t{132}}};

const Value* scope(const std::string& name) {
  const auto found = kValues.find(name);
  return found == kValues.end() ? nullptr : &found->second;
}

std::string result(const std::string& text) {
  try {
    return fa_tune::to_text(Expression::parse(text, {"l4.yaml", 7, 11}).evaluate(scope));
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("expression: what each form gives") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 4 - 3", "3"},
      {"100 / 10 / 5", "2"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 // 2", "-4"},
      {"7 // -2", "-4"},
      {"7 // 2", "3"},
      {"-8 // 2", "-4"},
      {"-7 % 3", "-1"},
      {"7 % -3", "1"},
      {"tiny % -1", "0"},
      {"--3", "3"},
      {"2 - -3", "5"},
      {"-2 * 3", "-6"},
      {"ceil_div(7, 2)", "4"},
      {"ceil_div(8, 2)", "4"},
      {"ceil_div(-7, 2)", "-3"},
      {"ceil_div(-7, -2)", "4"},
      {"abs(-5) + abs(5)", "10"},
      {"min(3, 1, 2)", "1"},
      {"max(3, 1, 2)", "3"},
      {"max(7)", "7"},
      {"1 < 2", "true"},
      {"16 <= BLOCK_M < 128", "true"},
      {"16 <= BLOCK_M < 64", "false"},
      {"1 < 2 > 1 == 1", "true"},
      {"3 > 2 > 1", "true"},
      {"3 >= 3 and 2 != 3", "true"},
      {"BLOCK_M % 16 == 0", "true"},
      {"device.sms * 2", "264"},
      {"template == 'mma'", "true"},
      {"template != \"mma\"", "false"},
      {"template in ['naive', 'mma']", "true"},
      {"template not in ['naive', 'mma']", "false"},
      {"WARPS in [1, 2, 3 + 1]", "true"},
      {"not on", "false"},
      {"not 1 == 2", "true"},
      {"not on or on", "true"},
      {"off and on or on", "true"},
      {"on or on and off", "true"},
      {"on == true", "true"},
      {"off or WARPS == 4", "true"},
      {"1 if on else 2", "1"},
      {"1 if off else 2 if off else 3", "3"},
      {"(1 if off else 2) + 1", "3"},
      {"1 + 1 if on or off else 5", "2"},
      // what is not needed is not evaluated
      {"off and 1 / zero == 1", "false"},
      {"on or 1 / zero == 1", "true"},
      {"1 if on else 1 / zero", "1"},
      {"1 > 2 > 1 / zero", "false"},
      {"on or unknown", "true"},
      {"huge + 0", "9223372036854775807"},
      {"tiny / 1", "-9223372036854775808"},
      {"  1\n + 2 ", "3"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(result(text) == expected);
  }
}

TEST_CASE("expression: errors point at the character and say what is wrong") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "l4.yaml:7:11: expected a value, found the end in ''"},
      {"1 +", "l4.yaml:7:14: expected a value, found the end in '1 +'"},
      {"1 2", "l4.yaml:7:13: expected an operator or the end, found '2' in '1 2'"},
      {"(1", "l4.yaml:7:13: expected ')', found the end in '(1'"},
      {"a && b", "l4.yaml:7:13: unexpected '&&', write 'and' in 'a && b'"},
      {"a || b", "l4.yaml:7:13: unexpected '||', write 'or' in 'a || b'"},
      {"a = 1", "l4.yaml:7:13: unexpected '=', write '==' in 'a = 1'"},
      {"!a", "l4.yaml:7:11: unexpected '!', write 'not' in '!a'"},
      {"2 ** 3", "l4.yaml:7:13: unexpected '**', powers are not part of this language in '2 ** 3'"},
      {"1.5", "l4.yaml:7:12: expected a whole decimal number in '1.5'"},
      {"16x", "l4.yaml:7:13: expected a whole decimal number in '16x'"},
      {"True", "l4.yaml:7:11: write true and false in lower case in 'True'"},
      {"a.", "l4.yaml:7:13: expected a name after '.' in 'a.'"},
      {"'abc", "l4.yaml:7:11: the quote is not closed in ''abc'"},
      {"a in 3", "l4.yaml:7:16: expected '[', found '3' in 'a in 3'"},
      {"a in []", "l4.yaml:7:17: expected a value, found ']' in 'a in []'"},
      {"a not 3", "l4.yaml:7:17: expected 'in', found '3' in 'a not 3'"},
      {"1 if on", "l4.yaml:7:18: expected 'else', found the end in '1 if on'"},
      {"and", "l4.yaml:7:11: expected a value, found 'and' in 'and'"},
      {"mim(1, 2)", "l4.yaml:7:11: unknown function 'mim', did you mean 'min'? in 'mim(1, 2)'"},
      {"ceil_div(1)", "l4.yaml:7:11: ceil_div takes 2 arguments, found 1 in 'ceil_div(1)'"},
      {"min()", "l4.yaml:7:11: min takes at least 1 argument, found 0 in 'min()'"},
      {"99999999999999999999",
       "l4.yaml:7:11: the number is beyond 64 bits in '99999999999999999999'"},
      {"1 +\n  ?", "l4.yaml:8:3: unexpected '?' in '1 +?  ?'"},
      {"1 + absent", "l4.yaml:7:15: 'absent' has no value in '1 + absent'"},
      {"1 / zero", "l4.yaml:7:13: division by zero in '1 / zero', where zero = 0"},
      {"1 % zero", "l4.yaml:7:13: division by zero in '1 % zero', where zero = 0"},
      {"1 // 0", "l4.yaml:7:13: division by zero in '1 // 0'"},
      {"ceil_div(1, 0)", "l4.yaml:7:11: division by zero in 'ceil_div(1, 0)'"},
      {"huge + 1",
       "l4.yaml:7:16: the result is beyond 64 bits in 'huge + 1', where huge = "
       "9223372036854775807"},
      {"tiny / -1",
       "l4.yaml:7:16: the result is beyond 64 bits in 'tiny / -1', where tiny = "
       "-9223372036854775808"},
      {"3037000500 * 3037000500",
       "l4.yaml:7:22: the result is beyond 64 bits in '3037000500 * 3037000500'"},
      {"1 + on", "l4.yaml:7:15: expected an integer, found true in '1 + on', where on = true"},
      {"not 1", "l4.yaml:7:15: expected true or false, found 1 in 'not 1'"},
      {"1 == true",
       "l4.yaml:7:13: cannot compare an integer with true or false: 1 and true in '1 == true'"},
      {"1 in ['mma']",
       "l4.yaml:7:13: cannot compare an integer with text: 1 and mma in '1 in ['mma']'"},
      {"'a' < 'b'", "l4.yaml:7:15: expected integers to order, found a in ''a' < 'b''"},
      {"1 if 1 else 2", "l4.yaml:7:16: expected true or false, found 1 in '1 if 1 else 2'"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(result(text) == expected);
  }
  CHECK(result("-tiny").find("beyond 64 bits") != std::string::npos);
  CHECK(result("abs(tiny)").find("beyond 64 bits") != std::string::npos);
  CHECK(result("tiny // -1").find("beyond 64 bits") != std::string::npos);
  CHECK(result("tiny - 1").find("beyond 64 bits") != std::string::npos);
  CHECK_THROWS_WITH(Expression::parse("1 +"),
                    "expected a value, found the end in '1 +' (column 4)");
}

TEST_CASE("expression: names, typed results and an absent scope") {
  const Expression expression =
      Expression::parse("WARPS * device.sms + WARPS - BLOCK_M", {"l4.yaml", 7, 11});
  CHECK(expression.names() == std::vector<std::string>{"WARPS", "device.sms", "BLOCK_M"});
  CHECK(expression.mark_of("device.sms").column == 19);
  CHECK(expression.evaluate_integer(scope) == 4 * 132 + 4 - 64);
  CHECK_THROWS_AS((void)expression.evaluate_bool(scope), UserError);
  CHECK(Expression::parse("on").evaluate_bool(scope));
  CHECK_THROWS_AS((void)Expression::parse("on").evaluate_integer(scope), UserError);
  CHECK(Expression::parse("1 + 1").evaluate_integer({}) == 2);
  CHECK_THROWS_AS((void)Expression::parse("a").evaluate({}), UserError);
}

TEST_CASE("expression: hostile text is refused, however deep or odd") {
  CHECK(result(std::string(10'000, '(')).find("longer than") != std::string::npos);
  CHECK(result(std::string(3'000, '(')).find("deeper than") != std::string::npos);
  CHECK(result(std::string(3'000, '-') + "1").find("deeper than") != std::string::npos);
  std::string chain = "1";
  for (int i = 0; i < 1'000; ++i) chain += "+1";
  CHECK(result(chain).find("deeper than") != std::string::npos);
  std::string choices;
  for (int i = 0; i < 220; ++i) choices += "1 if on else ";
  CHECK(result(choices + "1").find("deeper than") != std::string::npos);
  const std::vector<std::string> words = {
      "(",     ")",   "[",  "]",   ",",  "+",  "-",  "*",    "/",    "//",   "%",  "<",
      "<=",    "==",  "!=", "in",  "if", "or", "on", "else", "and",  "not",  "1",  "BLOCK_M",
      "'mma'", "min", "0",  "abs", ">",  ".",  "\"", "'",    "huge", "tiny", "\n", "\x80"};
  Random random(3);
  int evaluated = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(9); n > 0; --n)
      text += words[random.below(words.size())] + " ";
    try {
      (void)Expression::parse(text, {"l4.yaml", 7, 11}).evaluate(scope);
      ++evaluated;
    } catch (const UserError& error) {
      CHECK(std::string(error.what()).starts_with("l4.yaml:"));
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(evaluated > 200);
}

}  // namespace fa_tune::test
