#include "engine/report/text_format.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::report;

TEST_CASE("few trials have a time each, in place of a rate of nothing") {
  CHECK(rate_text(60, 30) == "2.0/s");
  CHECK(rate_text(4, 48) == "12 s each");
  CHECK(rate_text(1, 700) == "11m 40s each");
}

TEST_CASE("times are for people") {
  CHECK(format_seconds(-1) == "0 s");
  CHECK(format_seconds(99) == "99 s");
  CHECK(format_seconds(725) == "12m 05s");
  CHECK(format_seconds(7260) == "2h 01m");
}

}  // namespace fa_tune::test
