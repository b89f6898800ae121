#include "engine/source/identifier_substitution.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::source;

TEST_CASE("source words: words are whole, and numbers are none") {
  const auto shout = [](const std::string& word) { return "<" + word + ">"; };
  CHECK(with_words("a+b_1*2e5-0x1F/_c", shout) == "<a>+<b_1>*2e5-0x1F/<_c>");
  CHECK(with_words("", shout).empty());
  CHECK(with_words("12 ", shout) == "12 ");
}

TEST_CASE("source words: the greatest and the least of a parameter") {
  const std::string text = "max(a) + min( bs_x )*maximum(c) + max(1, d) + max (e";
  const auto first = next_extreme(text, 0);
  REQUIRE(first);
  CHECK(first->most);
  CHECK(first->name == "a");
  CHECK(text.substr(first->begin, first->end - first->begin) == "max(a)");
  const auto second = next_extreme(text, first->end);
  REQUIRE(second);
  CHECK_FALSE(second->most);
  CHECK(second->name == "bs_x");
  CHECK(text.substr(second->begin, second->end - second->begin) == "min( bs_x )");
  CHECK_FALSE(next_extreme(text, second->end));
}

}  // namespace fa_tune::test
