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

TEST_CASE("what turns the direction of writing or begins a line is no text") {
  for (const char* const mark : {"\xD8\x9C", "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xA8",
                                 "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9"})
    CHECK(printable(std::string("a") + mark + "b", 100) ==
          "a" + std::string(std::string_view(mark).size(), '?') + "b");
  CHECK(printable("\xD8\xA7 \xE2\x80\xA7 \xE2\x81\xA5", 100) ==
        "\xD8\xA7 \xE2\x80\xA7 \xE2\x81\xA5");
}

TEST_CASE("a stream is made visible whatever pieces it comes in") {
  const std::string text =
      "a\tb\n\x1B[31m b\xC3\xA4r \xE2\x82\xAC\xF0\x9F\x98\x80 \xC2\x9B \xE2\x80\xAE \xFF.\r\x07";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    VisibleText stream;
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += piece)
      shown += stream.take(text.substr(at, piece));
    CHECK(shown == "a\tb\n?[31m b\xC3\xA4r \xE2\x82\xAC\xF0\x9F\x98\x80 ?? ??? ?.??");
  }
}

TEST_CASE("a message is one line, and its quotes are short") {
  CHECK(message_line("x.yaml:1: the space's 'a\nb' is\x1B wrong") ==
        "x.yaml:1: the space's 'a b' is? wrong");
  CHECK(message_line("'" + std::string(63, 'q') + "' is") == "'" + std::string(63, 'q') + "' is");
  CHECK(message_line("found '" + std::string(5000, 'q') + "', sorry") ==
        "found '" + std::string(60, 'q') + "...', sorry");
  CHECK(message_line("found '" + std::string(80, ' ') + "', or 'b'") ==
        "found '" + std::string(60, ' ') + "...', or 'b'");
  CHECK(message_line(std::string(5000, 'w') + " end") == std::string(399, 'w') + "... end");
  std::string words;
  while (words.size() < 100'000) words += "word ";
  CHECK(message_line(words).size() <= 4000);
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
