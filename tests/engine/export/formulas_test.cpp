// Formulas: what is left of an expression, as text of three languages.

#include <map>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/export/text.hpp"
#include "engine/expression/residue.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;

namespace {

constexpr std::int64_t kKnown = 6;

std::optional<Residue> name_of(const std::string& name) {
  if (name == "k") return Residue::of(kKnown);
  if (name == "kind") return Residue::of(std::string("wide"));
  if (name == "nothing") return std::nullopt;
  return Residue::later(name);
}

Residue residue_of(const std::string& text) {
  return Residue::of(Expression::parse(text), name_of);
}

std::string left_of(const std::string& text, Language language = Language::native) {
  return residue_of(text).text(language);
}

std::string refusal_of(const std::string& text) {
  return message_of<UserError>([&] { residue_of(text); });
}

using Sizes = std::map<std::string, Value>;

// Nothing where it fails.
std::optional<std::int64_t> evaluated(const std::string& text, const Sizes& sizes) {
  try {
    const Value value = Expression::parse(text).evaluate([&](const std::string& name) {
      const auto found = sizes.find(name);
      return found == sizes.end() ? nullptr : &found->second;
    });
    const bool* flag = std::get_if<bool>(&value);
    return flag == nullptr ? std::get<std::int64_t>(value) : *flag;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Expressions of a, b and k that are of one type each.
class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::string integer(int depth) {
    const std::uint64_t form = random_.below(depth <= 0 ? 4 : 13);
    const auto two = [&](const char* symbol) {
      return "(" + integer(depth - 1) + symbol + integer(depth - 1) + ")";
    };
    switch (form) {
      case 0:
        return std::to_string(random_.below(12));
      case 1:
        return "k";
      case 2:
        return random_.below(4) == 0 ? "9223372036854775807" : "a";
      case 3:
        return "b";
      case 4:
        return two(" + ");
      case 5:
        return two(" - ");
      case 6:
        return two(" * ");
      case 7:
        return two(random_.below(2) == 0 ? " / " : " // ");
      case 8:
        return two(" % ");
      case 9:
        return "ceil_div(" + integer(depth - 1) + ", " + integer(depth - 1) + ")";
      case 10:
        return (random_.below(2) == 0 ? "min(" : "max(") + integer(depth - 1) + ", " +
               integer(depth - 1) + ")";
      case 11:
        return (random_.below(2) == 0 ? "abs(" : "-(") + integer(depth - 1) + ")";
      default:
        return "(" + integer(depth - 1) + " if " + truth(depth - 1) + " else " +
               integer(depth - 1) + ")";
    }
  }

  std::string truth(int depth) {
    const auto one = [&] { return integer(depth - 1); };
    switch (random_.below(depth <= 0 ? 3 : 6)) {
      case 0:
        return "(" + one() + " < " + one() + " <= " + one() + ")";
      case 1:
        return "(" + one() + (random_.below(2) == 0 ? " == " : " != ") + one() + ")";
      case 2:
        return "(" + one() + (random_.below(2) == 0 ? " in [" : " not in [") + one() + ", " +
               one() + "])";
      case 3:
        return "(" + truth(depth - 1) + " and " + truth(depth - 1) + ")";
      case 4:
        return "(" + truth(depth - 1) + " or " + truth(depth - 1) + ")";
      default:
        return "(not " + truth(depth - 1) + ")";
    }
  }

 private:
  Random random_;
};

struct Sample {
  std::string text;
  Residue residue;
};

std::vector<Sample> samples(int count) {
  std::vector<Sample> all;
  Writer writer(7);
  while (std::ssize(all) < count) {
    const std::string text = all.size() % 3 == 0 ? writer.truth(4) : writer.integer(4);
    // What fails whatever comes has no formula.
    try {
      all.push_back({text, residue_of(text)});
    } catch (const UserError&) {
      continue;
    }
  }
  return all;
}

const std::vector<std::pair<std::int64_t, std::int64_t>> kPlaces = {
    {0, 0}, {1, 7}, {-5, 3}, {1000, -1}, {6, 6}, {INT64_MAX, 2}, {INT64_MIN, -1}, {3, INT64_MIN}};

Sizes sizes_at(const std::pair<std::int64_t, std::int64_t>& place) {
  return {{"a", place.first}, {"b", place.second}, {"k", kKnown}};
}

}  // namespace

TEST_CASE("formulas: what rests on nothing that is known later is computed") {
  CHECK(left_of("ceil_div(n, k * 32) * 2") == "ceil_div(n, 192) * 2");
  CHECK(left_of("k * 2") == "12");
  CHECK(left_of("n if kind == 'wide' else 1 / 0") == "n");
  CHECK(left_of("k > 9 or n % 4 == 0") == "n % 4 == 0");
  CHECK(left_of("k > 3 or 1 / 0 > n") == "true");
  CHECK(left_of("k > 9 and n > 3") == "false");
  CHECK(left_of("(n - (m - 3)) * (2 + m) / (n / m)") == "(n - (m - 3)) * (2 + m) / (n / m)");
  CHECK(left_of("1 <= n <= k and not (m in [1, k])") == "1 <= n <= 6 and (not m in [1, 6])");
  CHECK(residue_of("n * m + n").names() == std::set<std::string>{"m", "n"});
  CHECK(residue_of("k").value() != nullptr);
  CHECK(residue_of("n").value() == nullptr);
  CHECK((residue_of("n + 1") * residue_of("1") * residue_of("m")).text(Language::native) ==
        "(n + 1) * m");
}

TEST_CASE("formulas: in C++ and in Python") {
  CHECK(left_of("1 <= n <= k or m == 2", Language::cxx) == "(1 <= n && n <= 6) || m == 2");
  CHECK(left_of("min(n, m // 2) if n > m else -n", Language::cxx) ==
        "choose(n > m, least({n, floor_div(m, 2)}), -n)");
  CHECK(left_of("min(n, m // 2) if n > m else -n", Language::python) ==
        "min(n, m // 2) if n > m else -n");
  CHECK(left_of("n not in [1, m]", Language::python) == "not (n == 1 or n == m)");
  CHECK(left_of("n / 2 % k", Language::python) == "_remainder(_divide(n, 2), 6)");
  CHECK(left_of("n not in [1, m]", Language::cxx) == "!one_of(n, {1, m})");
  CHECK(residue_of("n + m").text(
            Language::cxx, [](const std::string& name) { return "of." + name; }) == "of.n + of.m");
}

TEST_CASE("formulas: refusals have their place") {
  CHECK(refusal_of("n + nothing").find("'nothing' has no value in") != std::string::npos);
  CHECK(refusal_of("n + 1 / (k - 6)").find("this has no value") != std::string::npos);
  CHECK(refusal_of("n + (n > 3)").find("of another type") != std::string::npos);
  CHECK(refusal_of("(n > 3) == n").find("of another type") != std::string::npos);
  CHECK(refusal_of("(kind if n > 3 else kind) == kind").find("no text") != std::string::npos);
}

TEST_CASE("formulas: each says what its expression says, at every size") {
  for (const Sample& sample : samples(3000)) {
    const std::string text = sample.residue.text(Language::native);
    for (const auto& place : kPlaces) {
      const auto wanted = evaluated(sample.text, sizes_at(place));
      const auto found = evaluated(text, sizes_at(place));
      CHECK_MESSAGE(wanted == found, sample.text, " as ", text, " at ", place.first, " ",
                    place.second);
    }
  }
}

TEST_CASE("formulas: so it does in Python") {
  const ScratchFolder folder;
  std::string program(exports::python_sizes_part());
  for (const Sample& sample : samples(1000))
    for (const auto& place : kPlaces) {
      const auto wanted = evaluated(sample.text, sizes_at(place));
      if (!wanted) continue;
      program += fmt::format("a, b = {}, {}\nassert ({}) == {}\n", place.first, place.second,
                             sample.residue.text(Language::python), *wanted);
    }
  write_file(folder / "formulas.py", program);
  CHECK(runs(std::string(FA_TUNE_PYTHON " ") + (folder / "formulas.py").string()));
}

TEST_CASE("formulas: so it does in C++, also where there is no value") {
  const ScratchFolder folder;
  std::string program =
      "#include <algorithm>\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\n#include "
      "<initializer_list>\n" +
      std::string(exports::cxx_number_part()) +
      "int failures = 0;\n"
      "void look(int line, const Number& found, bool exists, std::int64_t value) {\n"
      "  if (found.exists == exists && (!exists || found.value == value)) return;\n"
      "  std::printf(\"%d\\n\", line);\n  ++failures;\n}\n";
  std::string body;
  int count = 0;
  for (const Sample& sample : samples(400)) {
    program += fmt::format(
        "Number formula_{}([[maybe_unused]] Number a, [[maybe_unused]] Number b) {{ return {}; "
        "}}\n",
        count, sample.residue.text(Language::cxx));
    for (const auto& place : kPlaces) {
      const auto wanted = evaluated(sample.text, sizes_at(place));
      const auto literal = [](std::int64_t value) {
        return value == INT64_MIN ? "INT64_MIN" : std::to_string(value);
      };
      body += fmt::format("  look({0}, formula_{0}({1}, {2}), {3}, {4});\n", count,
                          literal(place.first), literal(place.second), wanted.has_value(),
                          literal(wanted.value_or(0)));
    }
    ++count;
  }
  program += "int main() {\n" + body + "  return failures == 0 ? 0 : 1;\n}\n";
  write_file(folder / "formulas.cpp", program);
  const std::string made = (folder / "formulas").string();
  REQUIRE(runs(FA_TUNE_CXX " -std=c++17 -Wall -Wextra -Werror -fsanitize=undefined "
                           "-fno-sanitize-recover=all -o " +
               made + " " + made + ".cpp"));
  CHECK(runs(made));
}

}  // namespace fa_tune::test
