#include "engine/util/printable.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

TEST_CASE("well-formed text stays, anything else becomes a question mark a byte") {
  CHECK(printable("plain, b\xC3\xA4r, \xE2\x82\xAC, \xF0\x9F\x98\x80", 100) ==
        "plain, b\xC3\xA4r, \xE2\x82\xAC, \xF0\x9F\x98\x80");
  CHECK(printable("a\x1B[31mb\r\n\tc\x7F", 100) == "a?[31mb???c?");
  CHECK(printable(std::string_view("a\0b", 3), 100) == "a?b");
  CHECK(printable("\xC0\x80 \xED\xA0\x80 \xF4\x90\x80\x80 \xFF \xC3", 100) == "?? ??? ???? ? ?");
  CHECK(printable("\xC2\x9B", 100) == "??");  // a control character of two bytes
}

TEST_CASE("the first byte that is no UTF-8") {
  for (const char* text : {"", "a\tb\x7F", "b\xC3\xA4r \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC2\x9B"})
    CHECK_FALSE(first_not_utf8(text));
  CHECK(first_not_utf8("ab\xFF") == 2);
  CHECK(first_not_utf8("\xC3") == 0);
  CHECK(first_not_utf8("\xC3\xA4\xC3(") == 2);
  CHECK(first_not_utf8("a\xED\xA0\x80") == 1);
}

TEST_CASE("what is too long is cut between characters") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abc...");
  CHECK(printable("ab\xE2\x82\xAC"
                  "defg",
                  6) == "ab...");
}

}  // namespace fa_tune::test
