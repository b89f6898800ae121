#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/try_t1.hpp"

// A short, repeatable version of `tools/fuzz 600 t1`: texts near to real expressions give a value
// or a clear error, quickly.

namespace fa_tune::test {

namespace {

std::string mutated_expression(const std::vector<std::string>& texts, Random& random) {
  constexpr const char* hostile[] = {
      "(",          ")",     "[",      "]",      "**",
      "//",         "%",     "-",      "not ",   " in ",
      " for x in ", " if ",  " else ", "range(", "9223372036854775807",
      "0",          "1e308", "'half'", "x",      ",",
      ".",          "\n",    "\xff"};
  std::string text = texts[random.below(texts.size())];
  const std::uint64_t changes = 1 + random.below(4);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    test::mutate(text, random, hostile, 6, [&](std::size_t at) {
      const std::string& other = texts[random.below(texts.size())];
      text = text.substr(0, at) + other.substr(random.below(other.size()));
    });
  }
  return text;
}

}  // namespace

TEST_CASE("T1: thousands of texts that are nearly expressions give a value or an error") {
  const std::vector<std::string> texts = test::corpus("t1");
  REQUIRE(texts.size() > 5);
  Random random(20);
  std::set<std::string> outcomes;
  for (int i = 0; i < 20'000; ++i) outcomes.insert(test::try_t1(mutated_expression(texts, random)));
  // Some are still right: not everything was refused at the first character.
  CHECK(outcomes.contains("no values, no condition"));
  CHECK(outcomes.size() > 20);
}

}  // namespace fa_tune::test
