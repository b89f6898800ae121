#include "engine/device/emulator/timing/l2_link.hpp"

#include <doctest/doctest.h>

// The way between a simulated SM and L2.

namespace fa_tune::test {

using emulator::L2Link;

TEST_CASE("L2 link: transfers come one after the other, at the SM's share") {
  L2Link link(10, 40);
  CHECK(link.move(100, 0) == 10);
  CHECK(link.move(100, 5) == 20);
  CHECK(link.move(100, 100) == 110);
  CHECK(link.busy() == 30);
  L2Link free(0, 40);
  CHECK(free.move(100, 7) == 7);
  CHECK(free.move_to_all(100, 2, {1}, 7) == 7);
}

TEST_CASE("L2 link: bulk copies have later what the SM did not ask for, as fast as its port") {
  L2Link link(10, 40);
  // At the beginning all SMs ask.
  CHECK(link.move_to_all(1000, 1, {1}, 0) == 100);
  // 900 clocks of its share are left: 9,000 bytes, through the port.
  CHECK(link.move_to_all(8000, 1, {1}, 1000) == 1200);
  CHECK(link.move_to_all(1000, 1, {1}, 1200) == 1225);
  // Those are used up: its share again.
  CHECK(link.move_to_all(4000, 1, {1}, 1225) == 1400);
  // No more than that of kSavedClocks, however long it asked for nothing.
  const double bytes = 10 * L2Link::kSavedClocks;
  CHECK(link.move_to_all(bytes, 1, {1}, 1e6) == 1e6 + bytes / 40);
  CHECK(link.move_to_all(20'000, 1, {1}, 1e6) == 1e6 + 2000);
  CHECK(link.move(10, 2e6) == 2e6 + 1);
}

TEST_CASE("L2 link: what several CTAs get comes from L2 once, and through the port for each") {
  L2Link link(10, 40);
  CHECK(link.move_to_all(400, 2, {1}, 0) == 40);
  CHECK(link.move_to_all(400, 8, {1}, 40) == 120);
  L2Link faster(10, 0);
  CHECK(faster.move_to_all(400, 8, {2}, 0) == 20);
  CHECK(faster.busy() == 20);
}

TEST_CASE("L2 link: copies that come faster than the SM's share wait for those that they meet") {
  const auto last_of = [](double apart, const emulator::Meeting& meeting) {
    L2Link link(10, 0);
    double wait = 0;
    for (int i = 0; i < 1000; ++i) {
      const double at = 5000 + apart * i;
      wait = link.move_to_all(1000, 1, meeting, at) - at;
    }
    return wait;
  };
  // 1,000 bytes are the share of 100 clocks. None waits that L2 can give alone.
  CHECK(last_of(100, {2, 250}) == last_of(100, {2, 0}));
  CHECK(last_of(80, {2, 250}) == last_of(80, {2, 0}) + 250);
  // What is beyond the share for a short while has been saved before.
  L2Link link(10, 0);
  CHECK(link.move_to_all(5000, 1, {2, 250}, 10'000) == 10'000);
  // However large, a copy does not wait for itself.
  CHECK(L2Link(10, 0).move_to_all(30'000, 1, {1000, 250}, 10'000) == 10'000);
}

TEST_CASE("L2 link: stores have a port of their own, and cost L2 more than loads") {
  // 3,200 bytes: 100 clocks through the port, and of a share of 1,000 bytes a clock next to nothing.
  L2Link wide(1000, 0);
  CHECK(wide.store(3200, 0) == 100);
  CHECK(wide.store(3200, 0) == 200);
  CHECK(wide.move_to_all(3200, 1, {1}, 0) < 20);
  // Sectors that are not filled go the same way twice.
  CHECK(wide.store(3200, 1000, 3200) == 1200);
  // As fast as L2 takes them; loads have what DRAM leaves.
  L2Link narrow(10, 0, 3, 8);
  CHECK(narrow.store(80, 0) == 10);
  CHECK(narrow.move(100, 0) == 24 + 10);
  CHECK(narrow.busy() == 18);
  CHECK(L2Link(0, 0).store(100, 7) == 7);
}

TEST_CASE("L2 link: stores have later what L2 could have taken before, as fast as their port") {
  L2Link link(1000, 0, 1, 16);
  // At the beginning all SMs store.
  CHECK(link.store(1600, 0) == 100);
  // 900 clocks are left: 14,400 bytes, of which the port takes 32 a clock.
  CHECK(link.store(9600, 1000) == 1300);
  CHECK(link.store(9600, 1300) == 1600);
  // Those are used up: at 16 a clock.
  CHECK(link.store(16'000, 1600) == 2300);
  // No more than those of kSavedClocks.
  CHECK(link.store(16 * L2Link::kSavedClocks + 32'000, 1e6) == 1e6 + 2000);
}

TEST_CASE("L2 link: a thread's store is issued while not too much is on its way") {
  L2Link link(1000, 0, 1, 16);
  CHECK(link.open_to_stores_from() <= 0);
  link.store(32 * 1024, 0);
  CHECK(link.open_to_stores_from() == 1024);
  // Behind a pause the port alone makes them wait.
  link.store(24 * 1024, 10'000);
  CHECK(link.open_to_stores_from() == 10'000 + 256);
}

}  // namespace fa_tune::test
