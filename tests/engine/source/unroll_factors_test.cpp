#include <doctest/doctest.h>

#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::test {

using namespace fa_tune::source;

namespace {

std::string written(const std::string& text) {
  return with_unroll_factors(text, [](const std::string& word) {
    return word == "UNROLL" ? std::string("5") : word == "FAST" ? std::string("true") : word;
  });
}

}  // namespace

TEST_CASE("unroll factors: names are written out where a pragma has them") {
  CHECK(written("#pragma unroll UNROLL\nfor") == "#pragma unroll 5\nfor");
  CHECK(written("  #\tpragma   unroll (UNROLL * 2)\n") == "  #\tpragma   unroll (5 * 2)\n");
  CHECK(written("#pragma unroll(UNROLL)") == "#pragma unroll(5)");
  CHECK(written("x;\n#pragma unroll FAST ? UNROLL : kOther\ny") ==
        "x;\n#pragma unroll true ? 5 : kOther\ny");
  CHECK(written("#pragma unroll UNROLL\r\nUNROLL;\n#pragma unroll UNROLL") ==
        "#pragma unroll 5\r\nUNROLL;\n#pragma unroll 5");
}

TEST_CASE("unroll factors: all else stays as it is") {
  for (const std::string text :
       {"", "unroll", "#pragma unroll\nUNROLL", "#pragma unroll", "unroll UNROLL",
        "pragma unroll UNROLL", "x # pragma unroll UNROLL", "#pragma unroll4 UNROLL",
        "#pragma nounroll UNROLL", "#pragma\nunroll UNROLL", "#pragmaunroll UNROLL",
        "#pragma unroll MY_UNROLL UNROLL2", "#define UNROLL unroll UNROLL"})
    CHECK(written(text) == text);
}

TEST_CASE("unroll factors: a long line costs no more than short ones") {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "#pragma unroll UNROLL ";
  const std::string once = written(text);
  CHECK(once.starts_with("#pragma unroll 5 #pragma unroll 5 "));
  std::string blanks(1'000'000, ' ');
  for (std::size_t i = 0; i + 8 < blanks.size(); i += 8) blanks.replace(i, 7, " unroll");
  CHECK(written(blanks) == blanks);
}

}  // namespace fa_tune::test
