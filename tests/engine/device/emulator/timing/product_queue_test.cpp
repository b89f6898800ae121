#include "engine/device/emulator/timing/product_queue.hpp"

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/shared_memory.hpp"
#include "engine/device/emulator/timing/simulated_warp.hpp"

// The queue of a partition's products.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr double kClocks = 100;

Cost product(bool a_in_registers = false) {
  Cost cost;
  cost.unit = Unit::tensor;
  cost.role = Role::tensor_async;
  cost.busy = kClocks;
  cost.latency = 30;
  cost.a_in_registers = a_in_registers;
  return cost;
}

// So many products asked for at once: one runs, the others wait.
ProductQueue queue_of(std::size_t products, const SimulatedWarp& warp) {
  ProductQueue queue;
  for (std::size_t i = 0; i < products; ++i) queue.add(warp, product(), 0);
  return queue;
}

}  // namespace

TEST_CASE("product queue: a warp stands at its next product until there is room") {
  const SimulatedWarp one, other;
  const ProductQueue room = queue_of(ProductQueue::kPlaces, one);
  CHECK(!room.full_until(one, 1));
  const ProductQueue full = queue_of(ProductQueue::kPlaces + 1, one);
  // When the second one begins. Who has issued last is behind those who have not.
  const auto others_turn = full.full_until(other, 1);
  const auto own_turn = full.full_until(one, 1);
  REQUIRE(others_turn);
  REQUIRE(own_turn);
  CHECK(*others_turn == kClocks);
  CHECK(*own_turn > *others_turn);
  CHECK(!full.full_until(other, *others_turn));
}

TEST_CASE("product queue: while a product runs other instructions wait for a slot") {
  const SimulatedWarp warp;
  ProductQueue queue = queue_of(2, warp);
  constexpr double kFirst = ProductQueue::kFirstSlot;
  constexpr double kNext = kFirst + ProductQueue::kSlotClocks;
  CHECK(queue.slot_after(1) == kFirst);
  CHECK(!queue.slot_after(kFirst));
  CHECK(queue.slot_after(kFirst + 0.5) == kNext);
  CHECK(!queue.slot_after(kNext));
  CHECK(queue.delay(kNext).by == 0);
  // None is left of the first: when it ends, whatever is ready goes before the second.
  CHECK(queue.slot_after(kClocks - 0.5) == kClocks);
  CHECK(!queue.slot_after(kClocks));
  CHECK(queue.slot_after(kClocks + 1) == kClocks + kFirst);
  CHECK(!queue.slot_after(2 * kClocks));
}

TEST_CASE("product queue: a product begins in a clock that nothing else is issued in") {
  const SimulatedWarp warp;
  ProductQueue queue = queue_of(3, warp);
  for (int i = 0; i < 5; ++i) {
    const double at = kClocks + i;
    CHECK(!queue.slot_after(at));
    const auto [after, by] = queue.delay(at);
    CHECK(by == 1);
    // Groups that end with the first one are done.
    CHECK(after == at + product().latency);
  }
  CHECK(queue.end() == 3 * kClocks + 5);
  // It has begun meanwhile.
  CHECK(queue.slot_after(kClocks + 6) == kClocks + 5 + ProductQueue::kFirstSlot);
  CHECK(queue.delay(kClocks + 6 + ProductQueue::kFirstSlot).by == 0);
  CHECK(queue.end() == 3 * kClocks + 5);
}

TEST_CASE("product queue: A in registers takes its time where products of one warp follow") {
  const SimulatedWarp one, other;
  ProductQueue own;
  CHECK(own.add(one, product(true), 0) == kClocks);
  CHECK(own.add(one, product(true), 10) == 2 * kClocks + ProductQueue::kOperandClocks);
  CHECK(own.add(one, product(true), 1000) == 1000 + kClocks);
  ProductQueue in_turn;
  in_turn.add(one, product(true), 0);
  CHECK(in_turn.add(other, product(true), 10) == 2 * kClocks);
}

TEST_CASE("product queue: others read shared memory when products leave it to them") {
  const SimulatedWarp warp;
  // A is read at the beginning of each product.
  const ProductQueue two = queue_of(2, warp);
  CHECK(two.lets_access_from(10) == ProductQueue::kReadsAClocks);
  CHECK(two.lets_access_from(50) == 50);
  CHECK(two.lets_access_from(kClocks + 1) == kClocks + ProductQueue::kReadsAClocks);
  CHECK(two.lets_access_from(3 * kClocks) == 3 * kClocks);
  ProductQueue from_registers;
  from_registers.add(warp, product(true), 0);
  CHECK(from_registers.lets_access_from(10) == 10);
  // Short products leave nothing: what has waited long enough goes first all the same.
  ProductQueue short_ones;
  Cost cost = product();
  cost.busy = 32;
  for (int i = 0; i < 5; ++i) short_ones.add(warp, cost, 0);
  CHECK(short_ones.lets_access_from(0) == ProductQueue::kPatienceClocks);
  CHECK(short_ones.lets_access_from(150) == 160);
  CHECK(two.runs_at(10));
  CHECK(!two.runs_at(2 * kClocks));
}

TEST_CASE("shared memory: a partition's accesses begin in order, when products let them") {
  const SimulatedWarp warp;
  const ProductQueue none;
  SharedMemory alone;
  CHECK(alone.access(0, none, 10, 1, 1).last == 10);
  CHECK(alone.access(1, none, 10, 1, 1).last == 11);
  // Beside a product every other clock is left, and none while A is read.
  const ProductQueue one = queue_of(1, warp);
  SharedMemory beside;
  CHECK(beside.access(0, one, 50, 1, 1).last == 51);
  CHECK(beside.access(1, one, 50, 1, 1).last == 53);
  SharedMemory held;
  CHECK(held.access(0, one, 5, 1, 1).last == ProductQueue::kReadsAClocks + 1);
  // An instruction is taken while the one before waits.
  CHECK(held.access(0, one, 6, 1, 1).port_free == 10);
  CHECK(held.access(0, one, 7, 1, 1).last == ProductQueue::kReadsAClocks + 5);
}

}  // namespace fa_tune::test
