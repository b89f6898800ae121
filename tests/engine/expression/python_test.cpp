#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/expression/python_expression.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;

namespace {

std::string values_text(const std::string& text) {
  std::string result;
  for (const Value& value : parse_python_values(text)) result += to_json(value) + " ";
  if (!result.empty()) result.pop_back();
  return result;
}

const Constants& names() {
  static const Constants constants = {{"a", std::int64_t{7}},
                                      {"b", std::int64_t{-3}},
                                      {"z", std::int64_t{0}},
                                      {"r", 2.5},
                                      {"t", true},
                                      {"f", false},
                                      {"s", std::string("xy")},
                                      {"txt", std::string("xy")}};
  return constants;
}

const Value* look_up(const std::string& name) {
  const auto found = names().find(name);
  return found == names().end() ? nullptr : &found->second;
}

bool holds(const std::string& text) { return parse_python_condition(text).evaluate_bool(look_up); }

}  // namespace

TEST_CASE("python: values as T1 files write them") {
  CHECK(values_text("[16, 32, 48]") == "16 32 48");
  CHECK(values_text("[1, 2, 4, 8, 16] + list(range(32, 128+1, 32))") == "1 2 4 8 16 32 64 96 128");
  CHECK(values_text("[2**i for i in range(0, 6)]") == "1 2 4 8 16 32");
  CHECK(values_text("[i for i in range(1, 10+1)]") == "1 2 3 4 5 6 7 8 9 10");
  CHECK(values_text("list(range(4, 0, -1))") == "4 3 2 1");
  CHECK(values_text("range(3)") == "0 1 2");
  CHECK(values_text("(1, 2.0, 3e-1)") == "1 2.0 0.3");
  CHECK(values_text("1, 2") == "1 2");
  CHECK(values_text("5") == "5");
  CHECK(values_text("[True, False]") == "true false");
  CHECK(values_text("['float', \"float4\", 'half *']") == R"("float" "float4" "half *")");
  CHECK(values_text("[x*y for x in [1, 2] for y in (10, 20) if x*y != 20]") == "10 40");
  CHECK(values_text("[x for x in range(20) if x % 3 == 0 if x > 5]") == "6 9 12 15 18");
  CHECK(values_text("[32*i for i in [1] + [j for j in range(2, 4)]]") == "32 64 96");
  CHECK(values_text("[i for i in range(0)]").empty());
  CHECK(values_text("[0] * 3 + 2 * [1]") == "0 0 0 1 1");
  CHECK(values_text("sorted([3, 1, 2.5])") == "1 2.5 3");
  CHECK(values_text("list(set([4, 1, 4]))") == "1 4");
  CHECK(values_text("[min(3, 1), max([1, 2]), sum([1, 2.5]), len([1, 2]), abs(-3), round(2.5)]") ==
        "1 2 3.5 2 3 2");
  CHECK(values_text("[int(7/2), float(2), bool(3), any([0, 1]), all(x > 0 for x in [1, 0])]") ==
        "3 2.0 true true false");
  CHECK(values_text("[1_000, .5, 2., 1e3]") == "1000 0.5 2.0 1000.0");
}

TEST_CASE("python: conditions as T1 files write them") {
  CHECK(holds("z==0 or a % 32 != 0"));
  CHECK(holds("0 <= a * 2 <= 14"));
  CHECK_FALSE(holds("0 < a < b"));
  CHECK(holds("a % ((8 * 8)/16) == 3"));
  CHECK(holds("not (a == 7 and b == 3)"));
  CHECK(holds("a in [1, 7.0] and s in ('xy', 'z') and a not in range(7)"));
  // Numbers count as true unless they are 0; text unless it is empty.
  CHECK(holds("a"));
  CHECK_FALSE(holds("z"));
  CHECK(holds("a and not z"));
  CHECK(holds("s"));
  CHECK(holds("t == 1 and t + t == 2 and f == 0.0"));
  CHECK(holds("1 == 1.0 and 'x' != 1"));
  CHECK(holds("(a if t else z) == 7"));
  CHECK(holds("max([x * 2 for x in [a, b]]) == 14"));
  CHECK_FALSE(holds("z and 1 / z"));
}

TEST_CASE("python: everything else is refused, with its column") {
  const auto refuses = [](const std::string& text, const std::string& why) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_python_condition(text), doctest::Contains(why.c_str()), UserError);
  };
  refuses("a.b", "attributes are not part of this language in 'a.b' (column 2)");
  refuses("(1).real", "(column 4)");
  refuses("a[0]", "subscripts are not part of this language in 'a[0]' (column 2)");
  refuses("[1][0]", "subscripts");
  refuses("__import__('os')", "two leading underscores");
  refuses("[x for x in __builtins__]", "two leading underscores");
  refuses("eval('1')", "unknown function 'eval'");
  refuses("open('/etc/passwd')", "unknown function 'open'");
  refuses("rang(3)", "did you mean 'range'?");
  refuses("(lambda: 1)()", "unexpected ':'");
  refuses("1 + lambda", "expected a value, found 'lambda' in '1 + lambda' (column 5)");
  refuses("a if b", "expected 'else'");
  refuses("a == ", "expected a value, found the end");
  refuses("a = 1", "write '=='");
  refuses("a && b", "write 'and'");
  refuses("a; b", "unexpected ';'");
  refuses("{1: 2}", "unexpected '{'");
  refuses("f'{a}'", "expected an operator or the end");
  refuses("'\\x41'", "without backslashes");
  refuses("a < b in [1]", "parentheses");
  refuses("a in b", "expected a list");
  refuses("[1] < [2]", "expected a value here, not a list");
  refuses("[[1], [2]]", "expected a value here, not a list");
  refuses("[x for x in range(a)]", "known before any parameter");
  refuses("[x for x in [1] if a]", "known before any parameter");
  refuses("[x for x in [1] x]", "expected 'for', 'if' or the closing bracket");
  refuses("012", "leading zeros");
  refuses("1 2", "expected an operator or the end");
  refuses("99999999999999999999", "beyond 64 bits");
  CHECK_THROWS_WITH_AS(parse_python_condition("x\n  + y.z", {"f.json", 3, 5}),
                       doctest::Contains("f.json:4:6: "), UserError);
}

TEST_CASE("python: what cannot be computed says where") {
  CHECK_THROWS_WITH_AS(holds("a / z"), doctest::Contains("division by zero"), UserError);
  CHECK_THROWS_WITH_AS(holds("a % z == 0"), doctest::Contains("where a = 7, z = 0"), UserError);
  CHECK_THROWS_WITH_AS(holds("a ** 100 > 0"), doctest::Contains("beyond 64 bits"), UserError);
  CHECK_THROWS_WITH_AS(holds("s < 1"), doctest::Contains("no order"), UserError);
  CHECK_THROWS_WITH_AS(holds("s + 1 == 2"), doctest::Contains("found text"), UserError);
  CHECK_THROWS_WITH_AS(values_text("[1, q]"), doctest::Contains("'q' has no value"), UserError);
  CHECK_THROWS_WITH_AS(values_text("[1 // 0]"), doctest::Contains("division by zero"), UserError);
}

TEST_CASE("python: little text cannot ask for much") {
  for (const std::string text :
       {"range(10**9)", "[1] * 10**9",
        "[x for a in range(99999) for b in range(99999) for x in []]",
        "sum([x*y for x in range(2000) for y in range(2000)])",
        "[0 for a in range(999) for b in range(999) for c in range(999)]", "9**9**9**9",
        "range(-9223372036854775807, 9223372036854775807)"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_python_values(text), UserError);
  }
  CHECK_THROWS_AS(parse_python_values(std::string(5000, '(') + std::string(5000, ')')), UserError);
  CHECK_THROWS_AS(parse_python_values(std::string(5000, '-') + "1"), UserError);
  CHECK_THROWS_AS(parse_python_values(std::string(200'000, '1')), UserError);
  std::string chain = "a";
  for (int i = 0; i < 5000; ++i) chain += "+a";
  CHECK_THROWS_AS(parse_python_condition(chain), UserError);
}

namespace {

// Text that Python takes, most of which gives a value.
class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::string condition() { return scalar(4); }

 private:
  std::string pick(const std::vector<std::string>& from) {
    return from[random_.below(from.size())];
  }

  std::string leaf() {
    return pick({"a", "b",   "z",    "r",    "t",     "f",  "1",   "2",   "3",    "0", "-1",
                 "7", "0.5", "-2.5", "True", "False", "10", "1e2", "txt", "'xy'", "x"});
  }

  std::string list(int depth) {
    switch (random_.below(5)) {
      case 0:
        return "[" + scalar(depth - 1) + ", " + scalar(depth - 1) + "]";
      case 1:
        return "(" + scalar(depth - 1) + ", 2, " + scalar(depth - 1) + ")";
      case 2:
        return pick({"range(5)", "range(2, 9, 3)", "list(range(3, -3, -2))"});
      case 3:
        return "[" + scalar(depth - 1) + " for x in range(" + pick({"1", "2", "3"}) + ")]";
      default:
        return "([1] + [" + scalar(depth - 1) + "])";
    }
  }

  std::string scalar(int depth) {
    if (depth <= 0) return leaf();
    const auto sub = [&] { return scalar(depth - 1); };
    switch (random_.below(12)) {
      case 0:
        return "(" + sub() + " " + pick({"+", "-", "*", "/", "//", "%"}) + " " + sub() + ")";
      case 1:
        return sub() + pick({" + ", " - ", " * ", " // ", " % ", " / "}) + sub();
      case 2:
        return "(" + sub() + ") ** " + pick({"2", "0", "3", "-1", "b"});
      case 3:
        return "(" + sub() + pick({" < ", " <= ", " == ", " != ", " > ", " >= "}) + sub() + ")";
      case 4:
        return "(" + leaf() + pick({" < ", " <= ", " == "}) + sub() + pick({" < ", " != "}) +
               leaf() + ")";
      case 5:
        return "(" + sub() + pick({" and ", " or "}) + sub() + ")";
      case 6:
        return "(not " + sub() + ")";
      case 7:
        return "(" + sub() + " if " + sub() + " else " + sub() + ")";
      case 8:
        return "(" + leaf() + pick({" in ", " not in "}) + list(depth) + ")";
      case 9:
        return pick({"min", "max", "sum", "len", "any", "all"}) + "(" + list(depth) + ")";
      case 10:
        return pick({"abs", "int", "float", "bool", "round", "-", "+"}) + "(" + sub() + ")";
      default:
        return leaf();
    }
  }

  Random random_;
};

}  // namespace

TEST_CASE("python: random expressions give what Python gives") {
  // Loop variables are x; outside of loops x is 4.
  const std::string script = R"(
import sys, math
env = dict(a=7, b=-3, z=0, r=2.5, t=True, f=False, txt='xy', x=4)
for line in open(sys.argv[1]):
    try:
        v = eval(line, {}, dict(env)) if ' for ' not in line else eval(line, dict(env))
        if isinstance(v, complex) or (isinstance(v, float) and not math.isfinite(v)) or (
                isinstance(v, int) and not -2**63 <= v < 2**63): v = 'error'
        else: v = repr(v) if not isinstance(v, str) else "'" + v + "'"
    except Exception as e:
        v = 'error'
    print(v)
)";
  const test::ScratchFolder folder;
  write_file(folder / "ask.py", script);
  constexpr int kCount = 6000;
  Writer writer(20);
  std::vector<std::string> texts;
  std::string all;
  for (int i = 0; i < kCount; ++i) {
    texts.push_back(writer.condition());
    all += texts.back() + "\n";
  }
  write_file(folder / "texts", all);
  const std::string command = "python3 -W ignore " + (folder / "ask.py").string() + " " +
                              (folder / "texts").string() + " > " + (folder / "out").string();
  // NOLINTBEGIN(cert-env33-c): fixed words, and paths that the test made itself
  if (std::system("python3 -c 0 2>/dev/null") != 0) {
    log_warning("no python3 here: the Python dialect is not compared with Python");
    return;
  }
  REQUIRE(std::system(command.c_str()) == 0);
  // NOLINTEND(cert-env33-c)
  const std::string answers = read_file(folder / "out");

  const Value four = std::int64_t{4};
  const auto scope = [&](const std::string& name) { return name == "x" ? &four : look_up(name); };
  std::size_t at = 0;
  int values = 0;
  int compared = 0;
  for (const std::string& text : texts) {
    const std::size_t end = answers.find('\n', at);
    const std::string expected = answers.substr(at, end - at);
    at = end + 1;
    std::string found;
    try {
      const Value value = parse_python(text).evaluate(scope);
      if (const bool* flag = std::get_if<bool>(&value))
        found = *flag ? "True" : "False";
      else if (const auto* string = std::get_if<std::string>(&value))
        found = "'" + *string + "'";
      else
        found = fa_tune::to_text(value);
    } catch (const UserError&) {
      found = "error";
    }
    CAPTURE(text);
    if (found != "error") ++values;
    // Text has fewer uses here: it cannot be added, repeated or formatted.
    const bool has_text = text.find("xy") != text.npos || text.find("txt") != text.npos;
    if (found == "error" && has_text) continue;
    // len() does not ask for the items.
    if (expected == "error" && text.find("len") != text.npos) continue;
    ++compared;
    CHECK(found == expected);
  }
  CHECK(values > kCount / 2);
  CHECK(compared > kCount / 2);
}

}  // namespace fa_tune::test
