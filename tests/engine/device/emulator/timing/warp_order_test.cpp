#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/device/emulator/timing/sm_simulation.hpp"
#include "engine/device/emulator/timing/warpgroup_products.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

// Who goes first of warps of a partition that could all have the tensor core. What some of them do
// before their products, and behind them, makes the whole time tell.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

constexpr double kProductClocks = 6;
constexpr int kProductsOfAWarp = 60;
constexpr double kProductsClocks = kProductClocks * kProductsOfAWarp;
// An exponential of the one before: few issue slots in a long time.
constexpr double kLinkClocks = 17;
constexpr int kDelayLinks = 12;
constexpr int kTailLinks = 24;
constexpr double kTailClocks = kLinkClocks * kTailLinks;
constexpr double kMargin = 30;  // latencies at ends, and slots that products do not get

// Of what is in %f1, where the result is too.
std::string exponentials(int links) { return many("ex2.approx.ftz.f32 %f1, %f1;\n", links); }

// All wait for %f1, and what is behind them may wait for the last one, in %f1. Four sums in turn: one
// warp alone keeps the tensor core busy.
std::string products() {
  std::string text = "mov.b32 %r2, %f1;\n";
  for (int i = 0; i < kProductsOfAWarp; ++i) {
    const int first = 4 + i % 4 * 4;
    const std::string sums =
        fmt::format("{{%f{}, %f{}, %f{}, %f{}}}", first, first + 1, first + 2, first + 3);
    text += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sums +
            ", {%r2, %r2, %r2, %r2}, {%r3, %r3}, " + sums + ";\n";
  }
  return text + "mov.f32 %f1, %f16;\n";
}

// Two warps a partition, of one CTA or of two: `some` is what those do for which `condition` holds, of
// the CTA (%r0) and the thread (%r1).
double clocks_of(const std::string& condition, const std::string& some, const std::string& others,
                 std::uint32_t threads, std::uint32_t ctas) {
  const CountedRun run(std::string(kClockDeclarations) + "mov.u32 %r0, %ctaid.x;\n" +
                           "mov.u32 %r1, %tid.x;\nsetp." + condition + ";\n@%p1 bra SOME;\n" +
                           others + "ret;\nSOME:\n" + some,
                       TensorRule::ampere, threads, ctas);
  DeviceProfile profile = test::small_profile();
  profile.tensor_f16_flop_per_clock_sm = 4096 * 4 / kProductClocks;
  profile.block_start_clocks = 0;
  SmWork work;
  work.grid = run.launch.grid;
  work.resident = static_cast<int>(ctas);
  return simulate_sm(make_machine_code(run.program, profile, run.record), run.record, profile, work)
      .clocks;
}

}  // namespace

TEST_CASE("the warp that a partition issued for last goes on with products, whichever it is") {
  const std::string delay = exponentials(kDelayLinks);
  const std::string tail = exponentials(kTailLinks);
  const double early_alone = kProductsClocks + kTailClocks;
  const double late_behind = 2 * kProductsClocks + kTailClocks;
  struct Case {
    const char* are_late;
    std::uint32_t threads, ctas;
  };
  for (const auto& [are_late, threads, ctas] :
       {Case{"lt.u32 %p1, %r1, 128", 256, 1}, Case{"ge.u32 %p1, %r1, 128", 256, 1},
        Case{"eq.u32 %p1, %r0, 0", 128, 2}, Case{"eq.u32 %p1, %r0, 1", 128, 2}}) {
    CAPTURE(std::string(are_late));
    const auto clocks = [&](const std::string& late, const std::string& early) {
      return clocks_of(are_late, late, early, threads, ctas);
    };
    CHECK(std::abs(clocks(delay + products(), products() + tail) - early_alone) <= kMargin);
    CHECK(std::abs(clocks(delay + products() + tail, products()) - late_behind) <= kMargin);
  }
}

TEST_CASE("of CTAs that wait for the tensor core the first one goes on next") {
  // CTA 2 has it while both others come; one of these has a tail.
  const auto clocks = [](int has_tail) {
    const std::string late = exponentials(kDelayLinks) + products() +
                             fmt::format("setp.ne.u32 %p2, %r0, {};\n@%p2 ret;\n", has_tail) +
                             exponentials(kTailLinks);
    return clocks_of("lt.u32 %p1, %r0, 2", late, products(), 128, 3);
  };
  CHECK(std::abs(clocks(0) - (2 * kProductsClocks + kTailClocks)) <= 3 * kMargin);
  CHECK(std::abs(clocks(1) - (3 * kProductsClocks + kTailClocks)) <= 3 * kMargin);
}

namespace {

// Two warpgroups that issue products, and who goes first of their warps of the first partition.
struct Ordered {
  explicit Ordered(IssueOrder of) : order(of, cta_rank) {
    for (std::size_t i = 0; i < warps.size(); ++i) {
      warps[i].partition = i % kPartitions;
      products.begin(warps[i], warps[i / 4 * 4]);
    }
  }
  // The partition issued for the first warpgroup's last; the other's has waited longer.
  void first_was_last() {
    warps[0].issued = 20;
    warps[4].issued = 10;
    order.issued(warps[0]);
  }
  // The first warpgroup's product runs from then on.
  void run_product(double issued) {
    Cost product;
    product.unit = Unit::tensor;
    product.role = Role::tensor_async;
    product.busy = 1000;
    for (std::size_t i = 0; i < 4; ++i) products.issue(warps[i], product, issued);
  }
  bool first_goes_first(double at) {
    warps[0].next = warps[4].next = at;
    const auto own_runs = [&](const SimulatedWarp& of) { return products.own_runs(of, at); };
    const bool first = order.before(warps[0], warps[4], own_runs);
    CHECK(order.before(warps[4], warps[0], own_runs) != first);
    return first;
  }

  std::vector<std::uint64_t> cta_rank{0};
  std::vector<SimulatedWarp> warps{8};
  WarpgroupProducts products{warps};
  WarpOrder order;
};

}  // namespace

TEST_CASE("in turn: who has waited longest goes first, whoever was last") {
  Ordered of(IssueOrder::in_turn);
  of.warps[0].issued = 10;
  of.warps[4].issued = 20;
  of.order.issued(of.warps[4]);
  CHECK(of.first_goes_first(30));
  of.warps[0].issued = 25;
  CHECK(!of.first_goes_first(30));
}

TEST_CASE("goes on: whom the partition issued for last goes on, unless it was held up") {
  Ordered of(IssueOrder::goes_on);
  of.first_was_last();
  CHECK(of.first_goes_first(30));
  of.warps[0].held_up = true;
  CHECK(!of.first_goes_first(30));
}

TEST_CASE("goes on: beside a product those of other warpgroups go first") {
  Ordered of(IssueOrder::goes_on);
  of.first_was_last();
  of.run_product(20);
  const double running = 20 + ProductQueue::kStartClocks + 1;
  CHECK(!of.first_goes_first(running));
  CHECK(of.first_goes_first(20 + ProductQueue::kStartClocks - 1));
}

}  // namespace fa_tune::test
