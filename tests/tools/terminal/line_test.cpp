#include "tools/terminal/line.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::terminal;

namespace {

const Line kLine = {{"12 passed "}, {"3 failed", Color::bad}, {" and more"}};

}  // namespace

TEST_CASE("a terminal's line has columns, and colors only where these are wanted") {
  CHECK(columns_of(kLine) == 27);
  CHECK(drawn(kLine, false) == "12 passed 3 failed and more");
  CHECK(drawn(kLine, true) == "12 passed \x1b[31m3 failed\x1b[0m and more");
}

TEST_CASE("a terminal's line is cut to columns, and colors end where they began") {
  CHECK(drawn(cut(kLine, 27), false) == "12 passed 3 failed and more");
  CHECK(drawn(cut(kLine, 18), false) == "12 passed 3 fai...");
  CHECK(drawn(cut(kLine, 16), true) == "12 passed \x1b[31m3 f\x1b[0m...");
  CHECK(drawn(cut(kLine, 3), false) == "12 ");
  CHECK(drawn(cut(kLine, 0), false) == "");
  for (std::size_t columns = 0; columns < 30; ++columns)
    CHECK(columns_of(cut(kLine, columns)) <= columns);
}

}  // namespace fa_tune::test
