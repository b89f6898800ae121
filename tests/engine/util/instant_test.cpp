#include "engine/util/instant.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace std::chrono_literals;

TEST_CASE("an instant comes back as it was, to the millisecond") {
  for (const char* const text :
       {"1970-01-01T00:00:00.000Z", "2026-01-02T03:04:05.678Z", "2024-02-29T23:59:59.999Z"}) {
    const auto instant = instant_of(text);
    REQUIRE(instant.has_value());
    CHECK(instant_text(*instant) == text);
  }
  CHECK(*instant_of("2026-01-02T03:04:05Z") == *instant_of("2026-01-02T03:04:05.000Z"));
  CHECK(*instant_of("2026-03-01T00:00:00Z") - *instant_of("2026-02-28T23:59:58.5Z") == 1500ms);
}

TEST_CASE("what is no instant is none") {
  for (const char* const text :
       {"", "Z", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z",
        "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2026-01-02T24:04:05Z",
        "2026-01-02T03:60:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.6xZ",
        "2026-01-02T03:04:05xxZ", "2026-01-02T03:04:0xZ"})
    CHECK_FALSE(instant_of(text).has_value());
}

}  // namespace fa_tune::test
