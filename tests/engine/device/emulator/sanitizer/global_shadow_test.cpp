#include "engine/device/emulator/shadow/global_shadow.hpp"

#include <doctest/doctest.h>

using namespace fa_tune::emulator;

namespace {

constexpr std::uint64_t kBase = 0x7000'0000'1000;

struct Scene {
  GlobalShadow races;
  GlobalConflict conflict;

  GlobalStamp stamp(bool strong) const { return {races.actor(), races.time(), 5, 1, strong}; }
  bool read(std::uint64_t offset, std::uint32_t bytes, bool strong = false) {
    return races.read(kBase + offset, bytes, stamp(strong), conflict);
  }
  bool write(std::uint64_t offset, std::uint32_t bytes, bool strong = false) {
    return races.write(kBase + offset, bytes, stamp(strong), conflict);
  }
};

}  // namespace

TEST_CASE("CTAs race where they meet and one writes") {
  Scene scene;
  scene.races.enter(0);
  CHECK(scene.write(0, 4));
  CHECK(scene.read(0, 4));
  CHECK(scene.read(64, 16));
  scene.races.enter(1);
  CHECK(scene.write(4, 4));
  CHECK_FALSE(scene.read(0, 4));
  CHECK(scene.conflict.before_writes);
  CHECK(scene.conflict.before.actor == 0);
  CHECK_FALSE(scene.write(2, 2));
  CHECK(scene.read(64, 16));
  scene.races.enter(2);
  CHECK(scene.read(64, 16));
  CHECK_FALSE(scene.write(68, 4));
  CHECK_FALSE(scene.conflict.before_writes);
}

TEST_CASE("neighbours within 16 bytes do not race") {
  Scene scene;
  for (std::uint32_t cta = 0; cta < 2; ++cta) {
    scene.races.enter(cta);
    CHECK(scene.read(8 * cta, 8));
    CHECK(scene.write(8 * cta, 8));
  }
  for (std::uint32_t cta = 0; cta < 8; ++cta) {
    scene.races.enter(cta);
    CHECK(scene.read(16 + 2 * cta, 2));
    CHECK(scene.write(16 + 2 * cta, 2));
  }
}

TEST_CASE("atomics do not race with each other, but with plain accesses") {
  Scene scene;
  for (std::uint32_t cta = 0; cta < 3; ++cta) {
    scene.races.enter(cta);
    CHECK(scene.write(0, 4, true));
    CHECK(scene.read(0, 4, true));
  }
  scene.races.enter(3);
  CHECK_FALSE(scene.read(0, 4));
}

TEST_CASE("a fence and a strong write order what came before for who reads it") {
  Scene scene;
  constexpr std::uint64_t ticket = 128;
  scene.races.enter(0);
  CHECK(scene.write(0, 4));
  scene.races.fence();
  CHECK(scene.write(ticket, 4, true));
  scene.races.publish(kBase + ticket, false);
  CHECK(scene.write(4, 4));  // after the fence: not published
  scene.races.enter(1);
  CHECK(scene.write(32, 4));
  CHECK(scene.write(ticket, 4, true));
  scene.races.learn(kBase + ticket);
  scene.races.publish(kBase + ticket, false);  // no fence: publishes nothing
  CHECK(scene.read(0, 4));
  CHECK_FALSE(scene.read(4, 4));
  scene.races.enter(2);
  scene.races.learn(kBase + ticket);
  CHECK(scene.write(0, 4) == false);  // CTA 1 has read it, and published nothing
  CHECK_FALSE(scene.read(32, 4));
}

TEST_CASE("what has been learned is passed on") {
  Scene scene;
  scene.races.enter(0);
  CHECK(scene.write(0, 4));
  scene.races.publish(kBase + 64, true);
  scene.races.enter(1);
  scene.races.learn(kBase + 64);
  scene.races.publish(kBase + 80, true);
  scene.races.enter(2);
  scene.races.learn(kBase + 80);
  CHECK(scene.read(0, 4));
  CHECK(scene.write(0, 4));
}
