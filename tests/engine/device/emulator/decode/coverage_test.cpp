#include "engine/device/emulator/decode/coverage.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

TEST_CASE("a line of grammar stands for all its forms") {
  CHECK(forms_of("a{.b|.c}.<d|e>") ==
        std::vector<std::string>{"a.d", "a.e", "a.b.d", "a.b.e", "a.c.d", "a.c.e"});
  CHECK(forms_of("ret") == std::vector<std::string>{"ret"});
}

TEST_CASE("every opcode that the decoder knows is in the grammar") {
  std::set<std::string> asked;
  for (const CoverageRow& row : coverage()) {
    for (const std::string& line : row.grammar) {
      for (const std::string& form : forms_of(line)) asked.insert(form.substr(0, form.find('.')));
    }
  }
  for (const std::string& opcode : known_opcodes()) {
    CAPTURE(opcode);
    CHECK(asked.contains(opcode));
  }
}

// FA_TUNE_WRITE_COVERAGE=1 in the environment writes the table instead of comparing it.
TEST_CASE("the table in HACKING.md is what the decoder says") {
  const std::string path = std::string(FA_TUNE_ROOT) + "/HACKING.md";
  const std::string begin = "<!-- coverage: made by test_emulator, see coverage_test.cpp -->\n";
  const std::string end = "<!-- end of coverage -->";
  std::string text = read_file(path);
  const std::size_t from = text.find(begin);
  const std::size_t to = text.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::size_t at = from + begin.size();
  const std::string table = coverage_table();
  if (std::getenv("FA_TUNE_WRITE_COVERAGE") != nullptr) {
    write_file(path, text.replace(at, to - at, table));
    return;
  }
  CHECK(text.substr(at, to - at) == table);
}

}  // namespace fa_tune::test
