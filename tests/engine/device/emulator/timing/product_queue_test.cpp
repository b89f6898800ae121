#include "engine/device/emulator/timing/product_queue.hpp"

#include <doctest/doctest.h>

#include "engine/device/emulator/timing/shared_memory.hpp"

// The queue of an SM's products.

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

constexpr std::size_t kOne = 4;  // warpgroups
constexpr std::size_t kOther = 8;

// Issued so that it begins at `at`, if none is under way.
double add_for(ProductQueue& queue, std::size_t warpgroup, const Cost& cost, double at) {
  return queue.add(warpgroup, cost, at - ProductQueue::kStartClocks);
}

// So many products asked for at once: one runs, the others wait.
ProductQueue queue_of(std::size_t products) {
  ProductQueue queue;
  for (std::size_t i = 0; i < products; ++i) add_for(queue, kOne, product(), 0);
  return queue;
}

}  // namespace

TEST_CASE("product queue: a warpgroup stands at its next product until there is room") {
  const ProductQueue room = queue_of(ProductQueue::kPlaces);
  CHECK(!room.full_until(kOne, 1));
  const ProductQueue full = queue_of(ProductQueue::kPlaces + 1);
  // When the second one begins. Who has issued last is behind those who have not.
  const auto others_turn = full.full_until(kOther, 1);
  const auto own_turn = full.full_until(kOne, 1);
  REQUIRE(others_turn);
  REQUIRE(own_turn);
  CHECK(*others_turn == kClocks);
  CHECK(*own_turn > *others_turn);
  CHECK(!full.full_until(kOther, *others_turn));
}

TEST_CASE(
    "product queue: a product begins some time after it is issued, and ends a group that much "
    "later") {
  ProductQueue queue;
  CHECK(queue.add(kOne, product(), 10) == 10 + ProductQueue::kStartClocks + kClocks);
  // The next one does not wait for more than the first one's end.
  CHECK(queue.add(kOther, product(), 20) == 10 + ProductQueue::kStartClocks + 2 * kClocks);
  Cost waited = product();
  waited.latency = 45;
  CHECK(ProductQueue::end_clocks(waited) ==
        45 - ProductQueue::kStartClocks + ProductQueue::kNoticeClocks);
}

TEST_CASE("product queue: how fast one warp issues depends on where A is") {
  CHECK(ProductQueue::issue_clocks(product()) == 0.2 * kClocks);
  CHECK(ProductQueue::issue_clocks(product(true)) == ProductQueue::kRegisterIssueClocks);
  Cost small = product();
  small.busy = 8;
  CHECK(ProductQueue::issue_clocks(small) == ProductQueue::kIssueClocks);
}

TEST_CASE("product queue: while a product runs other instructions wait for a slot") {
  ProductQueue queue = queue_of(2);
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
  ProductQueue queue = queue_of(3);
  for (int i = 0; i < 5; ++i) {
    const double at = kClocks + i;
    CHECK(!queue.slot_after(at));
    const auto [after, by] = queue.delay(at);
    CHECK(by == 1);
    CHECK(after == at);
  }
  CHECK(queue.end() == 3 * kClocks + 5);
  // It has begun meanwhile.
  CHECK(queue.slot_after(kClocks + 6) == kClocks + 5 + ProductQueue::kFirstSlot);
  CHECK(queue.delay(kClocks + 6 + ProductQueue::kFirstSlot).by == 0);
  CHECK(queue.end() == 3 * kClocks + 5);
}

TEST_CASE("product queue: others keep a product from beginning for some clocks at most") {
  ProductQueue queue = queue_of(2);
  for (int i = 0; i < ProductQueue::kDelayAtMost; ++i) CHECK(queue.delay(kClocks + i).by == 1);
  const double begin = kClocks + ProductQueue::kDelayAtMost;
  CHECK(queue.delay(begin).by == 0);
  CHECK(queue.slot_after(begin) == begin + ProductQueue::kFirstSlot);
  CHECK(queue.end() == begin + kClocks);
}

TEST_CASE("product queue: a warpgroup's own instructions delay its product as it runs") {
  ProductQueue queue;
  add_for(queue, kOne, product(), 0);
  add_for(queue, kOther, product(), 10);
  CHECK(queue.warpgroup_at(kClocks / 2) == kOne);
  CHECK(!queue.warpgroup_at(-1));
  Cost addition;
  addition.busy = 1;
  Cost exponential;
  exponential.busy = 8;
  constexpr double kAddition = ProductQueue::kOwnDelay + ProductQueue::kOwnDelayShare;
  constexpr double kExponential = ProductQueue::kOwnDelay + 8 * ProductQueue::kOwnDelayShare;
  const auto [after, by] = queue.delay_own(addition, 50);
  CHECK(after == 0);
  CHECK(by == kAddition);
  CHECK(queue.delay_own(exponential, 60).by == kExponential);
  // What runs already ends later, what waits begins later too.
  CHECK(queue.warpgroup_at(kClocks + kAddition) == kOne);
  CHECK(queue.warpgroup_at(kClocks + kAddition + kExponential) == kOther);
  CHECK(queue.end() == 2 * kClocks + kAddition + kExponential);
}

TEST_CASE("product queue: others read shared memory when products leave it to them") {
  // A is read at the beginning of each product.
  const ProductQueue two = queue_of(2);
  CHECK(two.lets_access_from(10) == ProductQueue::kReadsAClocks);
  CHECK(two.lets_access_from(50) == 50);
  CHECK(two.lets_access_from(kClocks + 1) == kClocks + ProductQueue::kReadsAClocks);
  CHECK(two.lets_access_from(3 * kClocks) == 3 * kClocks);
  ProductQueue from_registers;
  add_for(from_registers, kOne, product(true), 0);
  CHECK(from_registers.lets_access_from(10) == 10);
  // Short products leave nothing: what has waited long enough goes first all the same.
  ProductQueue short_ones;
  Cost cost = product();
  cost.busy = 32;
  for (int i = 0; i < 5; ++i) add_for(short_ones, kOne, cost, 0);
  CHECK(short_ones.lets_access_from(0) == ProductQueue::kPatienceClocks);
  CHECK(short_ones.lets_access_from(150) == 160);
  CHECK(two.runs_at(10));
  CHECK(!two.runs_at(2 * kClocks));
}

TEST_CASE("asking whose product runs later forgets none of those that run") {
  ProductQueue asked;
  ProductQueue plain;
  for (ProductQueue* const queue : {&asked, &plain})
    for (std::size_t i = 0; i < ProductQueue::kPlaces; ++i) add_for(*queue, kOne, product(), 0);
  CHECK(asked.warpgroup_at(3.5 * kClocks) == kOne);
  CHECK(!asked.warpgroup_at(100 * kClocks));
  CHECK(asked.warpgroup_at(kClocks / 2) == kOne);
  CHECK(asked.full_until(kOther, 0) == plain.full_until(kOther, 0));
  CHECK(asked.slot_after(5) == plain.slot_after(5));
}

TEST_CASE("shared memory: a partition's accesses begin in order, when products let them") {
  const ProductQueue none;
  SharedMemory alone;
  CHECK(alone.access(0, none, 10, 1, 1).last == 10);
  CHECK(alone.access(1, none, 10, 1, 1).last == 11);
  // Beside a product every other clock is left, and none while A is read.
  const ProductQueue one = queue_of(1);
  SharedMemory beside;
  CHECK(beside.access(0, one, 50, 1, 1).last == 51);
  CHECK(beside.access(1, one, 50, 1, 1).last == 53);
  SharedMemory held;
  CHECK(held.access(0, one, 5, 1, 1).last == ProductQueue::kReadsAClocks + 1);
  // An instruction is taken while the one before waits.
  CHECK(held.access(0, one, 6, 1, 1).open_from == 6);
  CHECK(held.access(0, one, 7, 1, 1).last == ProductQueue::kReadsAClocks + 5);
}

}  // namespace fa_tune::test
