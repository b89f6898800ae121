#include "engine/device/emulator/shadow/shared_shadow.hpp"

#include <array>

#include <doctest/doctest.h>

using namespace fa_tune::emulator;

namespace {

class Recorder final : public RaceFilter {
 public:
  bool is_benign(const Conflict& conflict) override {
    conflicts.push_back(conflict);
    return false;
  }
  std::vector<Conflict> conflicts;
};

// Shared memory of 256 bytes and the warps that use it.
struct SharedScene {
  explicit SharedScene(std::uint32_t warps, std::uint32_t readers = 8)
      : clocks(warps), cells(256, readers) {}

  Stamp stamp(std::uint16_t warp, std::uint8_t lane, bool strong = false) const {
    const MemoryScope scope = strong ? MemoryScope::cta : MemoryScope::none;
    return {clocks.time(warp), 7U + warp, warp, lane, {scope, 0}};
  }
  Viewer viewer(std::uint16_t warp) const {
    return {warp, &clocks.view(warp), false, clocks.warps()};
  }
  bool read(std::uint16_t warp, std::uint8_t lane, std::size_t offset, std::size_t bytes,
            bool strong = false) {
    return cells.read(viewer(warp), stamp(warp, lane, strong), offset, bytes, filter);
  }
  bool write(std::uint16_t warp, std::uint8_t lane, std::size_t offset, std::size_t bytes,
             bool strong = false) {
    return cells.write(viewer(warp), stamp(warp, lane, strong), offset, bytes, filter);
  }
  void barrier() {
    Clock met;
    for (std::uint32_t warp = 0; warp < clocks.warps(); ++warp) clocks.release(warp, {}, met);
    for (std::uint32_t warp = 0; warp < clocks.warps(); ++warp) clocks.acquire(warp, {}, met);
  }

  VectorClocks clocks;
  SharedShadow cells;
  Recorder filter;
};

}  // namespace

TEST_CASE("warps race where no barrier orders them") {
  SharedScene scene(3);
  CHECK(scene.write(0, 3, 16, 4));
  CHECK(scene.read(0, 3, 16, 4));
  CHECK(scene.read(1, 0, 20, 4));
  CHECK_FALSE(scene.read(1, 0, 16, 4));
  REQUIRE(scene.filter.conflicts.size() == 1);
  const Conflict& conflict = scene.filter.conflicts[0];
  CHECK(conflict.before_writes);
  CHECK_FALSE(conflict.writes);
  CHECK(conflict.before.agent == 0);
  CHECK(conflict.before.lane == 3);
  CHECK(conflict.before.op == 7);
  CHECK(conflict.offset == 16);
  scene.barrier();
  CHECK(scene.read(1, 0, 16, 4));
  CHECK(scene.read(2, 0, 16, 4));
  CHECK_FALSE(scene.write(0, 3, 16, 4));  // both still read
  scene.barrier();
  CHECK(scene.write(0, 3, 16, 4));
}

TEST_CASE("a write waits for every reader, not only for the last") {
  SharedScene scene(4);
  for (std::uint16_t warp = 0; warp < 4; ++warp) CHECK(scene.read(warp, 0, 0, 16));
  Clock met;
  for (const std::uint32_t warp : {0U, 2U, 3U}) scene.clocks.release(warp, {}, met);
  scene.clocks.acquire(0, {}, met);
  CHECK_FALSE(scene.write(0, 0, 0, 16));
  CHECK(scene.filter.conflicts[0].before.agent == 1);
  scene.clocks.release(1, {}, met);
  scene.clocks.acquire(0, {}, met);
  CHECK(scene.write(0, 0, 0, 16));
}

TEST_CASE("readers are told apart whatever their numbers, as many as there are places for") {
  SharedScene scene(2, 4);
  for (int i = 0; i < 8; ++i) scene.clocks.add_agent();
  constexpr std::array<std::uint16_t, 4> kReaders{0, 4, 8, 5};  // all but one alike modulo 4
  for (const std::uint16_t reader : kReaders) {
    const Stamp stamp{scene.clocks.time(reader), 9, reader, 0, {}};
    CHECK(scene.cells.read(scene.viewer(0), stamp, 0, 16, scene.filter));
    if (reader != 0) scene.clocks.learn(1, {}, reader, scene.clocks.time(reader));
  }
  CHECK_FALSE(scene.write(1, 0, 0, 16));
  REQUIRE(scene.filter.conflicts.size() == 1);
  CHECK(scene.filter.conflicts[0].before.agent == 0);
  Clock met;
  scene.clocks.release(0, {}, met);
  scene.clocks.acquire(1, {}, met);
  CHECK(scene.write(1, 0, 0, 16));
}

TEST_CASE("lanes of a warp are ordered where they have met") {
  SharedScene scene(1);
  CHECK(scene.write(0, 0, 0, 4));
  CHECK(scene.write(0, 1, 4, 4));
  CHECK(scene.read(0, 0, 0, 4));
  CHECK_FALSE(scene.read(0, 1, 0, 4));
  scene.clocks.converge(0);
  CHECK(scene.read(0, 1, 0, 4));
  CHECK(scene.read(0, 0, 0, 4));
  CHECK_FALSE(scene.write(0, 0, 0, 4));
  CHECK(scene.filter.conflicts.back().before.lane == 1);
  scene.clocks.converge(0);
  CHECK(scene.write(0, 0, 0, 4));
}

TEST_CASE("wide and narrow accesses meet byte by byte") {
  SharedScene scene(2);
  CHECK(scene.write(0, 0, 0, 16));
  CHECK_FALSE(scene.write(1, 0, 2, 2));
  scene.barrier();
  CHECK(scene.write(1, 0, 2, 2));
  CHECK(scene.read(0, 0, 0, 2));
  CHECK(scene.read(0, 0, 4, 8));
  CHECK_FALSE(scene.read(0, 0, 0, 4));
  scene.barrier();
  CHECK(scene.write(0, 5, 0, 16));  // whole again
  CHECK_FALSE(scene.read(1, 0, 15, 1));
  CHECK(scene.filter.conflicts.back().before.lane == 5);
  scene.barrier();
  CHECK(scene.read(1, 0, 15, 1));
  CHECK(scene.write(0, 0, 14, 1));
  CHECK_FALSE(scene.write(0, 0, 0, 16));
  CHECK(scene.filter.conflicts.back().offset == 15);
}

TEST_CASE("two strong accesses never race, a strong and a weak one do") {
  SharedScene scene(2);
  CHECK(scene.write(0, 0, 0, 4, true));
  CHECK(scene.write(1, 0, 0, 4, true));
  CHECK(scene.read(0, 0, 0, 4, true));
  CHECK_FALSE(scene.write(1, 0, 0, 4));
  CHECK_FALSE(scene.read(0, 0, 0, 4));
}

TEST_CASE("what an agent writes is known to those who learned its time") {
  SharedScene scene(2);
  const std::uint16_t agent = scene.clocks.add_agent();
  const std::uint32_t phase = scene.clocks.advance(agent);
  CHECK(scene.cells.write(scene.viewer(0), {phase, 9, agent, 0, {}}, 32, 32, scene.filter));
  CHECK_FALSE(scene.read(0, 0, 32, 4));
  CHECK_FALSE(scene.read(1, 0, 48, 16));
  scene.clocks.learn(1, {}, agent, phase);
  CHECK(scene.read(1, 0, 48, 16));
  scene.barrier();
  CHECK(scene.read(0, 0, 32, 4));
}

TEST_CASE("an unfinished write races with everyone until it ends") {
  SharedScene scene(2);
  const Stamp copy{Stamp::kUnfinished, 4, 0, 2, {}};
  CHECK(scene.cells.write(scene.viewer(0), copy, 64, 16, scene.filter));
  CHECK_FALSE(scene.read(0, 2, 64, 16));
  scene.barrier();
  CHECK_FALSE(scene.read(1, 0, 68, 4));
  scene.cells.finish(copy, scene.stamp(0, 2), 64, 16);
  CHECK(scene.read(0, 2, 64, 16));
  CHECK_FALSE(scene.read(0, 3, 64, 16));  // a wait is the waiting thread's alone
  scene.barrier();
  CHECK(scene.read(1, 3, 64, 16));
}

TEST_CASE("what threads write is for the asynchronous proxy only behind a fence") {
  SharedScene scene(2);
  const std::uint16_t agent = scene.clocks.add_agent();
  const auto fetch = [&](std::uint16_t warp) {
    const Stamp stamp{scene.clocks.advance(agent), 9, agent, 0, {}};
    Viewer viewer = scene.viewer(warp);
    viewer.by_proxy = true;
    return scene.cells.read(viewer, stamp, 0, 16, scene.filter);
  };
  CHECK(scene.write(1, 0, 0, 16));
  scene.clocks.fence_proxy(0, {}, ProxySpace::shared);  // who has not seen the write
  scene.barrier();
  CHECK_FALSE(fetch(0));
  CHECK(scene.write(1, 0, 0, 16));
  scene.clocks.fence_proxy(1, {}, ProxySpace::shared);
  CHECK_FALSE(fetch(0));
  scene.barrier();
  CHECK(fetch(0));
  CHECK_FALSE(scene.write(0, 0, 0, 16));  // it still reads
  scene.clocks.learn(0, {}, agent, scene.clocks.time(agent));
  CHECK(scene.write(0, 0, 0, 16));
}

TEST_CASE("a cluster that begins is ordered after the one before") {
  SharedScene scene(2);
  CHECK(scene.write(0, 0, 0, 4));
  CHECK(scene.read(1, 0, 64, 4));
  scene.clocks.restart();
  CHECK(scene.read(1, 4, 0, 4));
  CHECK(scene.write(0, 7, 64, 4));
  CHECK_FALSE(scene.write(1, 7, 64, 4));
}

TEST_CASE("lanes that read one place as one are told apart all the same") {
  SharedScene scene(1);
  const auto read = [&](std::uint32_t lanes, std::uint8_t first) {
    return scene.cells.read(scene.viewer(0), scene.stamp(0, first), lanes, 0, 4, scene.filter);
  };
  CHECK(scene.write(0, 1, 0, 4));
  CHECK(read(0x2, 1));
  CHECK_FALSE(read(0x6, 1));
  CHECK(scene.filter.conflicts.back().lane == 2);
  CHECK_FALSE(read(0x4, 2));
  scene.clocks.converge(0);
  CHECK(read(0xff, 0));
  CHECK_FALSE(scene.write(0, 0, 0, 4));
  CHECK(scene.filter.conflicts.back().before.lane == 1);
}

TEST_CASE("a lane's release is of its own accesses and of what its warp did before it met") {
  SharedScene scene(2);
  const LaneSet first{1, false};
  CHECK(scene.write(0, 0, 0, 4));
  CHECK(scene.write(0, 1, 4, 4));
  Clock released;
  scene.clocks.release(0, first, released);
  scene.clocks.acquire(1, {}, released);
  CHECK(scene.read(1, 0, 0, 4));
  CHECK_FALSE(scene.read(1, 0, 4, 4));
  CHECK_FALSE(scene.read(0, 0, 4, 4));  // nor has it met the other
  scene.clocks.converge(0);
  scene.clocks.release(0, first, released);
  scene.clocks.acquire(1, {}, released);
  CHECK(scene.read(1, 0, 4, 4));
}

TEST_CASE("what a lane has waited for is known to it alone until its warp meets") {
  SharedScene scene(2);
  CHECK(scene.write(0, 0, 0, 4));
  Clock released;
  scene.clocks.release(0, {}, released);
  scene.clocks.acquire(1, {1U << 5, false}, released);
  CHECK(scene.read(1, 5, 0, 4));
  CHECK_FALSE(scene.read(1, 6, 0, 4));
  scene.clocks.converge(1);
  CHECK(scene.read(1, 6, 0, 4));
}

TEST_CASE("who knows only that others have read may write over it, and read nothing") {
  SharedScene scene(2);
  const std::uint16_t agent = scene.clocks.add_agent();
  const std::uint32_t phase = scene.clocks.advance(agent);
  CHECK(scene.cells.write(scene.viewer(1), {phase, 9, agent, 0, {}}, 0, 16, scene.filter));
  scene.clocks.learn(1, {}, agent, phase);
  CHECK(scene.read(1, 0, 0, 16));
  CHECK(scene.write(1, 0, 16, 16));
  Clock released;
  scene.clocks.release(1, {}, released);
  scene.clocks.acquire_reads(0, {}, released.known);
  CHECK_FALSE(scene.read(0, 0, 0, 16));
  CHECK_FALSE(scene.write(0, 0, 16, 16));  // what a thread wrote, not a copy
  CHECK(scene.write(0, 0, 0, 16));
}

TEST_CASE("strong accesses of two CTAs go together at cluster scope") {
  SharedScene scene(2);
  const auto write = [&](std::uint16_t warp, MemoryScope scope) {
    const Stamp stamp{scene.clocks.time(warp), 3, warp, 0, {scope, warp}};
    return scene.cells.write(scene.viewer(warp), stamp, 0, 4, scene.filter);
  };
  CHECK(write(0, MemoryScope::cluster));
  CHECK(write(1, MemoryScope::gpu));
  CHECK_FALSE(write(0, MemoryScope::cta));
}
