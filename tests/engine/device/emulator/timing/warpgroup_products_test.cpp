#include "engine/device/emulator/timing/warpgroup_products.hpp"

#include <set>
#include <vector>

#include <doctest/doctest.h>

// How the warps of warpgroups go on with their products.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr double kBusy = 100;
constexpr double kStart = ProductQueue::kStartClocks;
constexpr double kEnd = 7 + ProductQueue::kNoticeClocks;

struct TwoWarpgroups {
  TwoWarpgroups() {
    cost.unit = Unit::tensor;
    cost.role = Role::tensor_async;
    cost.busy = kBusy;
    cost.latency = kStart + 7;
    for (std::size_t i = 0; i < warps.size(); ++i) {
      warps[i].next = 0;
      products.begin(warps[i], warps[i / 4 * 4]);
    }
  }
  // The warp comes to its next product then, and issues it if it may.
  bool issue(std::size_t warp, double at) {
    warps[warp].next = at;
    if (products.holds(warps[warp])) return false;
    products.issue(warps[warp], cost, at);
    return true;
  }
  // All four are at the first product of a group, the last at `at`, and go on.
  void meet(std::size_t first, double at) {
    for (std::size_t i = first; i < first + 4; ++i) issue(i, at);
  }

  std::vector<SimulatedWarp> warps{8};
  WarpgroupProducts products{warps};
  Cost cost;
};

}  // namespace

TEST_CASE("warpgroup: its warps go on together at the first product of a group") {
  TwoWarpgroups of;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(!of.issue(i, 10.0 * static_cast<double>(i)));
    CHECK(of.warps[i].next == kNever);
  }
  CHECK(!of.issue(3, 50));
  const double met = of.warps[0].next;
  CHECK(met >= 50);
  CHECK(met <= 50 + WarpgroupProducts::kMeetClocks + WarpgroupProducts::kMeetSpread / 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK(of.warps[i].next == met);
  CHECK(of.warps[4].next == 0);  // of another warpgroup
  // Where it stood is told as a wait for products.
  CHECK(of.warps[0].waits[static_cast<std::size_t>(Wait::tensor)] == met);
  CHECK(of.issue(0, met));
  // The second of a group is met by nobody, and comes as fast as products are issued.
  CHECK(!of.issue(0, met + 1));
  CHECK(of.warps[0].next == met + ProductQueue::issue_clocks(of.cost));
}

TEST_CASE(
    "warpgroup: how long meeting takes differs from time to time, and is the same in each run") {
  TwoWarpgroups of;
  TwoWarpgroups again;
  std::set<double> clocks;
  for (int group = 0; group < 8; ++group) {
    const double at = 1000.0 * group;
    of.meet(0, at);
    again.meet(0, at);
    CHECK(of.warps[0].next == again.warps[0].next);
    clocks.insert(of.warps[0].next - at);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(of.issue(i, at + 100));
      CHECK(again.issue(i, at + 100));
      of.products.commit(of.warps[i]);
      again.products.commit(again.warps[i]);
    }
  }
  CHECK(clocks.size() > 4);
}

TEST_CASE("warpgroup: a product begins when all of its warps have issued it") {
  TwoWarpgroups of;
  of.meet(0, 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(of.issue(i, 100));
  of.products.commit(of.warps[0]);
  // Who waits for it before the last one has issued it asks again then.
  of.warps[0].next = 110;
  CHECK(of.products.waits(of.warps[0], 0, 110));
  CHECK(of.warps[0].next == kNever);
  CHECK(of.issue(3, 200));
  CHECK(of.warps[0].next == 200);
  CHECK(of.products.waits(of.warps[0], 0, 200));
  CHECK(of.warps[0].next == 200 + kStart + kBusy + kEnd);
  CHECK(!of.products.waits(of.warps[0], 0, of.warps[0].next));
  // A group that may be under way is not waited for.
  CHECK(!of.products.waits(of.warps[0], 1, 200));
}

TEST_CASE("warpgroup: only its first warp stands where the queue is full") {
  TwoWarpgroups of;
  of.meet(0, 0);
  double at = 100;
  for (std::size_t product = 0; product < ProductQueue::kPlaces + 2; ++product) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(of.issue(i, at));
    at += ProductQueue::issue_clocks(of.cost);
  }
  CHECK(of.issue(1, at));
  CHECK(!of.issue(0, at));
  // Until the third begins.
  CHECK(of.warps[0].next >= 100 + kStart + 2 * kBusy);
  CHECK(of.warps[0].next < 101 + kStart + 2 * kBusy);
}

TEST_CASE("warpgroup: what delays a product delays all of its warps") {
  TwoWarpgroups of;
  of.meet(0, 0);
  for (std::size_t i = 0; i < 4; ++i) of.issue(i, 100);
  for (std::size_t i = 0; i < 4; ++i) of.products.commit(of.warps[i]);
  Cost addition;
  addition.unit = Unit::fma;
  addition.issues = 1;
  addition.busy = 1;
  // One of another warpgroup, when it would begin; then one of its own; both where the first warps are.
  of.products.delay(of.warps[4], addition, 100 + kStart);
  of.products.delay(of.warps[0], addition, 150 + kStart);
  of.warps[5].partition = of.warps[1].partition = 1;
  of.products.delay(of.warps[5], addition, 100 + kStart);
  of.products.delay(of.warps[1], addition, 150 + kStart);
  const double delay = 1 + ProductQueue::kOwnDelay + ProductQueue::kOwnDelayShare;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(of.products.waits(of.warps[i], 0, 150));
    CHECK(of.warps[i].next == 100 + kStart + kBusy + kEnd + delay);
  }
}

TEST_CASE("warpgroup: an exponential takes longer beside another warpgroup's product") {
  TwoWarpgroups of;
  of.meet(0, 0);
  for (std::size_t i = 0; i < 4; ++i) of.issue(i, 100);
  Cost exponential;
  exponential.unit = Unit::special;
  exponential.busy = 8;
  const double beside = of.products.holds_unit(of.warps[4], exponential, 150 + kStart);
  CHECK(beside >= 10.6);
  CHECK(beside <= 11);
  CHECK(of.products.holds_unit(of.warps[0], exponential, 150 + kStart) == 8);
  CHECK(of.products.holds_unit(of.warps[4], exponential, 100) == 8);
}

TEST_CASE("warpgroup: what begins anew has nothing under way") {
  TwoWarpgroups of;
  of.meet(0, 0);
  for (std::size_t i = 0; i < 4; ++i) of.issue(i, 100);
  for (std::size_t i = 0; i < 4; ++i) of.products.begin(of.warps[i], of.warps[0]);
  CHECK(!of.products.waits(of.warps[0], -1, 110));
  CHECK(!of.issue(0, 120));  // and meets the others again
  CHECK(of.warps[0].next == kNever);
}

}  // namespace fa_tune::test
