#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/try_proposal.hpp"

// A short, repeatable version of `tools/fuzz 600 proposer`: lines near to real ones are refused
// with a reason or give valid configs.

namespace fa_tune::test {

namespace {

void mutate(std::string& text, Random& random) {
  const std::size_t at = random.below(text.size() + 1);
  const std::size_t length = std::min<std::size_t>(random.below(8), text.size() - at);
  switch (random.below(4)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    default: {
      const char* pieces[] = {"0",    "-1", "1e999", "\"",      "null",
                              "true", "[",  "}",     "\\u0000", "64.0"};
      text.insert(at, pieces[random.below(std::size(pieces))]);
    }
  }
}

}  // namespace

TEST_CASE("a line that is nearly a proposer's is refused with a reason or holds valid configs") {
  const auto texts = test::corpus("proposer");
  REQUIRE(texts.size() >= 3);
  Random random(11);
  std::set<std::string> outcomes;
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = texts[random.below(texts.size())];
    for (std::uint64_t change = random.below(3); change > 0; --change) mutate(text, random);
    std::string outcome;
    CHECK_NOTHROW(outcome = test::try_proposal(text));
    CHECK_FALSE(outcome.empty());
    if (outcome.find("valid") != std::string::npos) ++valid;
    outcomes.insert(outcome.substr(0, 60));
  }
  // They reach every depth: no JSON, no answer, no genome, no config.
  CHECK(outcomes.size() > 50);
  CHECK(valid > 1000);
}

}  // namespace fa_tune::test
