// Races of launches on a device: when they begin, what they compare, what they leave out.

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "engine/measure/sampler.hpp"
#include "tests/engine/measure/clock_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::measure;
using test::ClockDevice;
using test::noise;

TEST_CASE("a race of launches: samples of a millisecond, three a block, and what a race says") {
  ClockDevice device([](const TimingPlan&, int n) { return 20 + 0.05 * noise(n); });
  Launch one, other;
  one.kernel = KernelHandle{1};
  other.kernel = device.slower;
  const auto different = race_launches(device, {one, other});
  REQUIRE(different);
  CHECK(different->result.ratios[1] == doctest::Approx(1.03).epsilon(0.003));
  CHECK_FALSE(different->by_cycles);
  // Three samples a block, of the baseline twice.
  const auto good = static_cast<std::size_t>(different->result.blocks());
  CHECK(different->timings[0].samples_us.size() == 6 * good);
  CHECK(different->timings[1].samples_us.size() == 3 * good);
  CHECK(different->timings[1].gpu.sm_mhz.size() == 3 * good);
  CHECK(device.plans.back().launches_per_sample == 50);
  CHECK(device.plans.back().samples == 3);
  CHECK(device.plans.back().warm_up_samples == 1);

  const auto same = race_launches(device, {one, one});
  REQUIRE(same);
  CHECK(same->result.ratios[1] == doctest::Approx(1).epsilon(0.003));

  device.fault_after = static_cast<int>(device.plans.size()) + 20;
  const auto broken = race_launches(device, {one, other});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().fault.message == "planted");
  CHECK(broken.error().contestant <= 1);
}

TEST_CASE("a race begins when the clock falls no further, or after twenty looks at it") {
  const auto looks = [](const ClockDevice& device) {
    return std::ranges::count(device.plans, 0, &TimingPlan::warm_up_samples);
  };
  const auto clock = [](const TimingPlan&, int n) { return 20 + 0.05 * noise(n); };
  ClockDevice steady(clock);
  REQUIRE(race_launches(steady, {{}, {}}));
  CHECK(looks(steady) == 2);

  ClockDevice falling(clock);
  falling.mhz = [](int n) { return std::max(1800.0, 1980 - 0.1 * n); };
  const auto raced = race_launches(falling, {{}, {}});
  REQUIRE(raced);
  CHECK(looks(falling) > 3);
  CHECK(looks(falling) < 20);
  CHECK(std::ranges::all_of(raced->timings[0].gpu.sm_mhz, [](double mhz) { return mhz == 1800; }));

  ClockDevice rising(clock);
  rising.mhz = [](int n) { return 1500 + 0.1 * n; };
  REQUIRE(race_launches(rising, {{}, {}}));
  CHECK(looks(rising) == 2);

  ClockDevice endless(clock);
  endless.mhz = [](int n) { return 1980 * std::exp(-1e-4 * n); };
  REQUIRE(race_launches(endless, {{}, {}}));
  CHECK(looks(endless) == 20);
}

TEST_CASE("where nobody tells the clock, a race begins when the kernel gets no slower") {
  const auto looks = [](const ClockDevice& device) {
    return std::ranges::count(device.plans, 0, &TimingPlan::warm_up_samples);
  };
  ClockDevice cooling([](const TimingPlan&, int n) { return std::min(22.0, 20 + 0.005 * n); });
  cooling.mhz = nullptr;
  REQUIRE(race_launches(cooling, {{}, {}}));
  CHECK(looks(cooling) > 3);
  CHECK(looks(cooling) < 20);
}

TEST_CASE("a race under a clock that wanders compares cycles and tells times") {
  const auto mhz = [](int n) { return 1500 * (1 + 0.05 * std::sin(0.7 * n)); };
  ClockDevice wandering([&](const TimingPlan&, int n) { return 20 * 1500 / mhz(n); });
  wandering.mhz = mhz;
  Launch one, other;
  one.kernel = KernelHandle{1};
  other.kernel = wandering.slower;
  const auto raced = race_launches(wandering, {one, other});
  REQUIRE(raced);
  CHECK(raced->by_cycles);
  CHECK(raced->result.good_blocks() == raced->result.blocks());
  CHECK(raced->result.ratios[1] == doctest::Approx(1.03).epsilon(0.0005));
  CHECK(median(raced->timings[1].samples_us) == doctest::Approx(20.6).epsilon(0.03));

  // Its clock untold, times are what is compared.
  wandering.mhz = nullptr;
  const auto untold = race_launches(wandering, {one, other});
  REQUIRE(untold);
  CHECK_FALSE(untold->by_cycles);
}

TEST_CASE("a race leaves the samples of void blocks out") {
  // The second block's second baseline is 5% slower.
  int calls = 0;
  ClockDevice stepping([&](const TimingPlan& plan, int n) {
    if (plan.samples == 3) ++calls;
    const bool step = plan.samples == 3 && calls > 3 * 5 && calls <= 3 * 6;
    return (step ? 21 : 20) + 0.02 * noise(n);
  });
  const auto raced = race_launches(stepping, {{}, {}});
  REQUIRE(raced);
  CHECK(raced->result.good_blocks() == raced->result.blocks() - 1);
  CHECK_FALSE(raced->result.good[1]);
  CHECK(raced->timings[1].samples_us.size() ==
        3 * static_cast<std::size_t>(raced->result.good_blocks()));
}

TEST_CASE("a race with a cold cache takes a launch a sample") {
  ClockDevice device([](const TimingPlan& plan, int n) {
    return (plan.l2 == L2::cold ? 80 : 20) + 0.05 * noise(n);
  });
  const auto raced = race_launches(device, {{}, {}}, {}, L2::cold);
  REQUIRE(raced);
  CHECK(raced->timings[0].l2 == L2::cold);
  CHECK(median(raced->timings[0].samples_us) == doctest::Approx(80).epsilon(0.01));
  CHECK(device.plans.back().launches_per_sample == 1);
}

TEST_CASE("a race of what is written over restores it before each launch of all") {
  const BufferChanges restore{{}, {{BufferHandle{1}, BufferHandle{2}, 4}}};
  for (const L2 l2 : {L2::warm, L2::cold}) {
    ClockDevice device([](const TimingPlan&, int n) { return 20 + 0.05 * noise(n); });
    const auto raced = race_launches(device, {{}, {}}, {}, l2, restore);
    REQUIRE(raced);
    CHECK(raced->timings[1].restored);
    for (const TimingPlan& plan : device.plans) {
      CHECK(plan.restore.copies.size() == 1);
      CHECK(plan.launches_per_sample == 1);
    }
    CHECK(device.plans.back().samples == 15);
  }
}

}  // namespace fa_tune::test
