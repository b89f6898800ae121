#include "engine/device/emulator/shadow/init_shadow.hpp"

#include <doctest/doctest.h>

using namespace fa_tune::emulator;

TEST_CASE("an InitShadow knows each byte") {
  InitShadow map(300);
  CHECK_FALSE(map.all(0, 1));
  CHECK(map.all(7, 0));
  map.mark(60, 140);  // across words
  CHECK(map.all(60, 140));
  CHECK_FALSE(map.all(59, 2));
  CHECK_FALSE(map.all(190, 11));
  CHECK(map.written(56, 8) == 0xf0);
  CHECK(map.written(64, 32) == 0xffffffff);
  CHECK(map.written(192, 16) == 0x00ff);
  CHECK(map.missing(58, 10).first == 0);
  CHECK(map.missing(58, 10).count == 2);
  CHECK(map.missing(198, 4).first == 2);
  map.clear();
  CHECK(map.written(64, 32) == 0);
}
