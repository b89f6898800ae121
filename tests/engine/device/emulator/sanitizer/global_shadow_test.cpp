#include "engine/device/emulator/shadow/global_shadow.hpp"

#include <set>
#include <utility>

#include <doctest/doctest.h>

using namespace fa_tune::emulator;

namespace {

constexpr std::uint64_t kBase = 0x7000'0000'1000;

// Two warps in each CTA of clusters of two.
struct Scene : GlobalOrder {
  GlobalShadow races;
  GlobalConflict conflict;
  std::uint32_t cluster = 0;
  std::uint32_t cta = 0;
  std::uint16_t warp = 0;
  bool asynchronous = false;
  bool knows = false;                                       // of others
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;  // clusters' agents

  void enter(std::uint32_t block) {
    cluster = block / 2;
    cta = block % 2;
    warp = static_cast<std::uint16_t>(2 * cta);
    known.clear();
  }
  bool ordered(const GlobalStamp& before, std::uint32_t, bool) const override {
    return known.contains({before.cluster, before.agent});
  }
  bool knows_others() const override { return knows; }

  GlobalStamp stamp(MemoryScope scope) const {
    return {cluster, 1, 5, warp, {scope, cta}, asynchronous};
  }
  bool read(std::uint64_t offset, std::uint32_t bytes, MemoryScope scope = MemoryScope::none) {
    return races.read(kBase + offset, bytes, stamp(scope), 1, *this, conflict);
  }
  bool write(std::uint64_t offset, std::uint32_t bytes, MemoryScope scope = MemoryScope::none) {
    return races.write(kBase + offset, bytes, stamp(scope), 1, *this, conflict);
  }
};

}  // namespace

TEST_CASE("CTAs race where they meet and one writes") {
  Scene scene;
  scene.enter(0);
  CHECK(scene.write(0, 4));
  CHECK(scene.read(0, 4));
  CHECK(scene.read(64, 16));
  scene.warp = 1;
  CHECK(scene.read(0, 4));  // a CTA's threads are not told apart
  scene.enter(1);
  CHECK(scene.write(4, 4));
  CHECK_FALSE(scene.read(0, 4));
  CHECK(scene.conflict.before_writes);
  CHECK(scene.conflict.before.strength.cta() == 0);
  CHECK(scene.conflict.before_lane == 1);
  CHECK_FALSE(scene.write(2, 2));
  CHECK(scene.read(64, 16));
  scene.enter(2);
  CHECK(scene.read(64, 16));
  CHECK_FALSE(scene.write(68, 4));
  CHECK_FALSE(scene.conflict.before_writes);
}

TEST_CASE("neighbours within 16 bytes do not race") {
  Scene scene;
  for (std::uint32_t block = 0; block < 2; ++block) {
    scene.enter(block);
    CHECK(scene.read(8 * block, 8));
    CHECK(scene.write(8 * block, 8));
  }
  for (std::uint32_t block = 0; block < 8; ++block) {
    scene.enter(block);
    CHECK(scene.read(16 + 2 * block, 2));
    CHECK(scene.write(16 + 2 * block, 2));
  }
}

TEST_CASE("atomics do not race where the scope of each has the other, but with plain accesses") {
  Scene scene;
  for (const std::uint32_t block : {0, 1, 4}) {
    scene.enter(block);
    CHECK(scene.write(0, 4, MemoryScope::gpu));
    CHECK(scene.read(0, 4, MemoryScope::gpu));
  }
  scene.enter(6);
  CHECK_FALSE(scene.read(0, 4));
  scene.enter(0);
  CHECK(scene.write(32, 4, MemoryScope::cluster));
  scene.enter(1);
  CHECK(scene.write(32, 4, MemoryScope::gpu));
  scene.enter(2);
  CHECK_FALSE(scene.write(32, 4, MemoryScope::cluster));
}

TEST_CASE("each of four warps' writes within 16 bytes is remembered") {
  Scene scene;
  for (std::uint32_t block = 0; block < 2; ++block) {
    scene.enter(block);
    for (std::uint16_t warp = 0; warp < 2; ++warp) {
      scene.warp = static_cast<std::uint16_t>(2 * block + warp);
      CHECK(scene.write(4 * scene.warp, 4));
    }
  }
  scene.enter(4);
  for (std::uint16_t agent = 0; agent < 4; ++agent) {
    scene.known = {{0, agent}};
    for (std::uint64_t other = 0; other < 4; ++other) {
      CHECK(scene.read(4 * other, 4) == (other == agent));
    }
  }
}

TEST_CASE("an asynchronous write is not ordered with its own CTA until it is known to have ended") {
  Scene scene;
  scene.enter(0);
  scene.asynchronous = true;
  CHECK(scene.write(0, 16));
  scene.asynchronous = false;
  CHECK_FALSE(scene.read(0, 4));
  scene.known = {{0, 0}};
  CHECK(scene.read(0, 4));
}

TEST_CASE("a write after many have read is a race unless something may order them") {
  Scene scene;
  for (const std::uint32_t block : {0, 2, 4, 6}) {
    scene.enter(block);
    CHECK(scene.read(0, 4));
  }
  scene.enter(8);
  scene.known = {{0, 0}};  // who is still remembered
  scene.knows = true;
  CHECK(scene.write(0, 4));
  scene.knows = false;
  scene.known.insert({4, 0});
  CHECK_FALSE(scene.write(0, 4));
}

TEST_CASE("what is published at a place is joined") {
  GlobalShadow races;
  CHECK(races.published(kBase) == nullptr);
  Clock first;
  first.known.here.add(3, 7);
  races.publish(kBase, 1, first);
  Clock second;
  second.known.here.add(3, 9);
  second.known.beyond = races.published(kBase)->known;
  races.publish(kBase, 2, second);
  const BeyondPointer known = races.published(kBase)->known;
  REQUIRE(known != nullptr);
  CHECK(reach_of(known, 1)->covers(3, 7, 1));
  CHECK_FALSE(reach_of(known, 1)->covers(3, 8, 1));
  CHECK(reach_of(known, 2)->covers(3, 9, 1));
  CHECK(reach_of(known, 3) == nullptr);
}
