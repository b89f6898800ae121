#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/try_space.hpp"

// A short, repeatable version of `tools/fuzz 600 space`: texts near to space files, whose
// constraints overflow, divide by zero, nest and contradict, give a space or a clear error.

namespace fa_tune::test {

namespace {

std::string mutated_file(const std::vector<std::string>& texts, Random& random) {
  constexpr const char* hostile[] = {"[",     "]",    "{",    "}",      ":",
                                     "- ",    "&a ",  "*a ",  "!!int ", "|\n",
                                     ">\n",   "\"",   "'",    "#",      "\t",
                                     " % ",   " / ",  " - ",  " * ",    "((((",
                                     "))))",  "not ", "0",    "-1",     "9223372036854775807",
                                     "1e999", "~",    "\xff", "\n",     "and ",
                                     "X"};
  std::string text = texts[random.below(texts.size())];
  for (std::uint64_t left = 1 + random.below(2); left > 0 && !text.empty(); --left) {
    test::mutate(text, random, hostile, 12, [&](std::size_t at) {
      const std::size_t from = random.below(text.size());
      text.insert(at, text.substr(from, 1 + random.below(40)));
    });
  }
  return text;
}

}  // namespace

TEST_CASE("thousands of texts that are nearly space files give a space or an error") {
  const std::vector<std::string> texts = test::corpus("space");
  REQUIRE(texts.size() == 3);
  CHECK(test::try_space(texts[0]) == "built");
  CHECK(test::try_space(texts[1]) == "built");
  CHECK(test::try_space(texts[2]) == "refused");
  Random random(21);
  std::multiset<std::string> outcomes;
  for (int i = 0; i < 4'000; ++i) outcomes.insert(test::try_space(mutated_file(texts, random)));
  CHECK(outcomes.count("built") > 100);
  CHECK(outcomes.count("refused") > 1'000);
  MESSAGE(outcomes.count("built") << " built, " << outcomes.count("refused") << " refused, "
                                  << outcomes.count("large") << " large");
}

}  // namespace fa_tune::test
