#include "engine/device/emulator/async/mbarrier.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/state/interleaving.hpp"

// What kernels wait on and the order they run in, by themselves; cluster_test.cpp has both at work.

using fa_tune::emulator::Interleaving;
using fa_tune::emulator::Mbarrier;

TEST_CASE("an mbarrier counts arrivals and bytes, and a phase ends when none is pending") {
  Mbarrier barrier = Mbarrier::initialized(2);
  CHECK(barrier.expected() == 2);
  CHECK(barrier.parity() == 0);
  CHECK_FALSE(barrier.arrive(1).completed);
  CHECK(barrier.expect_bytes(100).wrong.empty());
  CHECK_FALSE(barrier.arrive(1).completed);
  CHECK(barrier.pending() == 0);
  CHECK(barrier.pending_bytes() == 100);
  CHECK_FALSE(barrier.complete_bytes(60).completed);
  CHECK(barrier.complete_bytes(40).completed);
  CHECK(barrier.parity() == 1);
  CHECK(barrier.pending() == 2);
  // Bytes may come before they are expected.
  CHECK_FALSE(barrier.complete_bytes(16).completed);
  CHECK(barrier.pending_bytes() == -16);
  CHECK(barrier.expect_bytes(16).wrong.empty());
  CHECK_FALSE(barrier.arrive_and_drop(1).completed);
  CHECK(barrier.arrive(1).completed);
  CHECK(barrier.parity() == 0);
  CHECK(barrier.pending() == 1);
  CHECK_FALSE(barrier.arrive(2).wrong.empty());
  CHECK_FALSE(barrier.expect_bytes(1 << 20).wrong.empty());
  CHECK(barrier.pending() == 1);
}

TEST_CASE("memory that nobody initialized is no mbarrier") {
  CHECK_FALSE(Mbarrier::from(0));
  CHECK_FALSE(Mbarrier::from(~std::uint64_t{0}));
  CHECK(Mbarrier::from(Mbarrier::initialized(Mbarrier::kMostCount).bits()));
}

TEST_CASE("a schedule is drawn from its number and its cluster") {
  const auto draws = [](std::uint64_t number, std::uint64_t cluster) {
    Interleaving interleaving(number, cluster);
    std::vector<std::uint64_t> drawn;
    for (int i = 0; i < 20; ++i)
      drawn.push_back(interleaving.turn() * 2 + (interleaving.early() ? 1 : 0));
    return drawn;
  };
  CHECK(draws(3, 0) == draws(3, 0));
  CHECK(draws(3, 0) != draws(4, 0));
  CHECK(draws(3, 0) != draws(3, 1));
  CHECK(Interleaving(1, 0).early());
  CHECK_FALSE(Interleaving(2, 0).early());
  CHECK_FALSE(Interleaving(0, 0).early());
}
