#include "engine/report/table.hpp"

#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/report/text_format.hpp"

namespace fa_tune::test {

using namespace fa_tune::report;

TEST_CASE("table: numbers to the right, words to the left, the last column wrapped") {
  Table table({{"us", Align::right}, {"device"}, {"config", Align::wrap}});
  table.add({"9.50", "L4", "BLOCK_M=64 BLOCK_N=32 STAGES=2"});
  table.add({"120.25", "H100 µ", ""});
  CHECK(table.text(34) ==
        "    us  device  config\n"
        "  9.50  L4      BLOCK_M=64\n"
        "                BLOCK_N=32\n"
        "                STAGES=2\n"
        "120.25  H100 µ\n");
  CHECK(table.text() ==
        "    us  device  config\n"
        "  9.50  L4      BLOCK_M=64 BLOCK_N=32 STAGES=2\n"
        "120.25  H100 µ\n");
  CHECK_THROWS_AS(table.add({"one"}), std::logic_error);
}

TEST_CASE("table: no line is wider than the page, whatever is put into the wrapped column") {
  Table table({{"trial", Align::right}, {"config", Align::wrap}, {"more", Align::wrap}});
  table.add({"1", std::string(500, 'x'), "a b c"});
  table.add({"1234567", "word " + std::string(95, 'y') + " word", std::string(80, 'z')});
  std::istringstream lines(table.text());
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= kPageWidth);
}

TEST_CASE("table: a cell with a line end begins no row; a long word takes no longer than many") {
  Table table({{"device"}, {"config", Align::wrap}});
  table.add({"a\nb\x1B", "c\nx"});
  CHECK(table.text() == "device  config\na?b?    c x\n");
  CHECK(wrap_words(std::string(4'000'000, 'x'), 60).size() == 66'667);
}

TEST_CASE("wrap_words breaks what does not fit and keeps code points whole") {
  using Lines = std::vector<std::string>;
  CHECK(wrap_words("", 5) == Lines{""});
  CHECK(wrap_words("  ab\ncd  ef ", 5) == Lines{"ab cd", "ef"});
  CHECK(wrap_words("abcdefgh", 3) == Lines{"abc", "def", "gh"});
  CHECK(wrap_words("a bcdefgh i", 3) == Lines{"a", "bcd", "efg", "h i"});
  CHECK(wrap_words("µµµµ", 3) == Lines{"µµµ", "µ"});
}

TEST_CASE("words: what rows hold, as a person reads it") {
  CHECK(settings_text(R"({"template":"mma","BLOCK_M":64,"CAUSAL":true})") ==
        "mma BLOCK_M=64 CAUSAL=true");
  CHECK(settings_text("{}") == "-");
  CHECK(settings_text("not json") == "not json");
  CHECK(genes_text(R"({"BLOCK_M":[64,32],"STAGES":[null,2],"W":["a","b"]})") ==
        "BLOCK_M 64 -> 32, STAGES none -> 2, W a -> b");
  CHECK(genes_text("{}") == "-");
  CHECK(genes_text(R"({"A":1})") == R"({"A":1})");
  CHECK(time_text(12.345) == "12.35");
  CHECK(time_text(0.5) == "0.5000");
  CHECK(time_text({}) == "-");
  CHECK(interval_text({1.5, 1, 2}) == "1.00 .. 2.00");
  CHECK(interval_text({1.5, 1}) == "-");
  CHECK(gain_text(100.0, 80.0) == "+20.0%");
  CHECK(gain_text(100.0, 110.0) == "-10.0%");
  CHECK(gain_text({}, 80.0) == "-");
}

}  // namespace fa_tune::test
