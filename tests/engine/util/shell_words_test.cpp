#include <doctest/doctest.h>

#include "engine/util/child_process.hpp"
#include "engine/util/error.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using Words = std::vector<std::string>;

TEST_CASE("words are split as a shell splits them, and nothing else happens to them") {
  CHECK(split_words("python3 my.py") == Words{"python3", "my.py"});
  CHECK(split_words("  a\t b\nc ") == Words{"a", "b", "c"});
  CHECK(split_words("'a b' \"c d\"e f\\ g") == Words{"a b", "c de", "f g"});
  CHECK(split_words("a '' \"\"") == Words{"a", "", ""});
  CHECK(split_words(R"("a\"b\\c\d" 'e\f')") == Words{R"(a"b\c\d)", R"(e\f)"});
  CHECK(split_words("a $HOME; rm -rf * | `b` > c") ==
        Words{"a", "$HOME;", "rm", "-rf", "*", "|", "`b`", ">", "c"});
}

TEST_CASE("what is no command is refused") {
  const auto message = [](const char* text) {
    return test::message_of<UserError>([&] { split_words(text); });
  };
  CHECK(message("a 'b") == "command 'a 'b': the quote ' is not closed");
  CHECK(message("a \"b\\") == "command 'a \"b\\': there is nothing behind the last backslash");
  CHECK(message(" \t") == "the command is empty: expected a program and its arguments");
}

}  // namespace fa_tune::test
