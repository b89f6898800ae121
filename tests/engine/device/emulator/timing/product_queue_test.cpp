#include "engine/device/emulator/timing/product_queue.hpp"

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/simulated_warp.hpp"

// The queue of a partition's products.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr double kClocks = 100;

Cost product() {
  Cost cost;
  cost.unit = Unit::tensor;
  cost.role = Role::tensor_async;
  cost.busy = kClocks;
  return cost;
}

Cost instruction(Unit unit) {
  Cost cost;
  cost.unit = unit;
  return cost;
}

// So many products asked for at once: one runs, the others wait.
ProductQueue queue_of(std::size_t products, const SimulatedWarp& warp) {
  ProductQueue queue;
  for (std::size_t i = 0; i < products; ++i)
    queue.add(warp, product(), 0, kClocks * static_cast<double>(i + 1));
  return queue;
}

}  // namespace

TEST_CASE("product queue: a warp stands at its next product until there is room") {
  const SimulatedWarp one, other;
  ProductQueue room = queue_of(ProductQueue::kPlaces, one);
  CHECK(!room.full_until(one, 1));
  ProductQueue full = queue_of(ProductQueue::kPlaces + 1, one);
  // When the second one begins. Who has issued last is behind those who have not.
  const auto others_turn = full.full_until(other, 1);
  const auto own_turn = full.full_until(one, 1);
  REQUIRE(others_turn);
  REQUIRE(own_turn);
  CHECK(*others_turn == kClocks);
  CHECK(*own_turn > *others_turn);
  CHECK(!full.full_until(other, *others_turn));
}

TEST_CASE("product queue: instructions delay products, but for a share of their time") {
  const SimulatedWarp warp;
  ProductQueue queue = queue_of(2, warp);
  const Cost fma = instruction(Unit::fma);
  const double free = 2 * ProductQueue::kFreeShare * kClocks;
  double delay = 0;
  for (int i = 0; i < 100; ++i) delay += queue.delay(fma, 1);
  CHECK(delay == doctest::Approx(100 * ProductQueue::kDelay - free));
  CHECK(queue.end() == doctest::Approx(2 * kClocks + delay));
  CHECK(queue.delay(instruction(Unit::alu), 1) ==
        doctest::Approx(ProductQueue::kDelay + ProductQueue::kAluDelay));
  CHECK(queue.delay(instruction(Unit::special), 1) ==
        doctest::Approx(ProductQueue::kDelay + ProductQueue::kSpecialDelay));
  // Those that wait begin later, too.
  ProductQueue full = queue_of(ProductQueue::kPlaces + 1, warp);
  double by = 0;
  for (int i = 0; i < 200; ++i) by += full.delay(fma, 1);
  CHECK(by > 0);
  CHECK(full.full_until(SimulatedWarp(), 1) == kClocks + by);
}

TEST_CASE("product queue: what is over is delayed no more, and leaves nothing that is free") {
  const SimulatedWarp warp;
  ProductQueue queue = queue_of(1, warp);
  const Cost fma = instruction(Unit::fma);
  CHECK(queue.delay(fma, kClocks) == 0);
  CHECK(queue.end() == kClocks);
  queue.add(warp, product(), 1000, 1000 + kClocks);
  double delay = 0;
  for (int i = 0; i < 50; ++i) delay += queue.delay(fma, 1001);
  CHECK(delay == doctest::Approx(50 * ProductQueue::kDelay - ProductQueue::kFreeShare * kClocks));
}

}  // namespace fa_tune::test
