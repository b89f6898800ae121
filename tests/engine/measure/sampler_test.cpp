#include "engine/measure/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "engine/base/random.hpp"

using namespace fa_tune;

namespace {

// A device whose only use is its clock: `clock` gives the sample that a plan gets at its n-th
// taking.
class ClockDevice : public Device {
 public:
  explicit ClockDevice(std::function<double(const TimingPlan&, int)> clock)
      : clock_(std::move(clock)) {
    info_.id = "fake:0";
  }

  const DeviceInfo& info() const override { return info_; }
  std::expected<KernelHandle, Fault> load(const KernelImage&) override { return KernelHandle{1}; }
  void unload(KernelHandle) override {}
  BufferHandle allocate(std::size_t) override { return BufferHandle{1}; }
  void release(BufferHandle) override {}
  std::expected<void, Fault> write(BufferHandle, std::size_t, std::span<const std::byte>) override {
    return {};
  }
  std::expected<void, Fault> read(BufferHandle, std::size_t, std::span<std::byte>) override {
    return {};
  }
  Argument address(BufferHandle buffer, std::size_t) override { return buffer; }
  std::expected<void, Fault> launch(const Launch&) override { return {}; }

  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    plans.push_back(plan);
    if (static_cast<int>(plans.size()) > fault_after) return std::unexpected(fault);
    Timing timing;
    timing.kind = info_.times;
    if (info_.times == TimeKind::predicted) {
      timing.model = "fake";
      timing.samples_us = {clock_(plan, taken_++)};
      return timing;
    }
    taken_ += plan.warm_up_samples;
    const double factor = launch.kernel == slower ? 1.03 : 1;
    timing.l2 = plan.l2;
    timing.launches_per_sample = plan.launches_per_sample;
    for (int i = 0; i < plan.samples; ++i) {
      const bool slow = throttled && throttled(taken_);
      if (slow) timing.gpu.throttled.push_back(static_cast<std::uint32_t>(i));
      if (mhz) timing.gpu.sm_mhz.push_back(slow ? 1000 : mhz(taken_));
      timing.samples_us.push_back((slow ? 1.5 : 1) * factor * clock_(plan, taken_++));
    }
    return timing;
  }

  DeviceInfo info_;
  std::vector<TimingPlan> plans;
  int fault_after = std::numeric_limits<int>::max();
  KernelHandle slower{99};  // by 3%
  Fault fault{FaultKind::trap, "planted"};
  std::function<double(int)> mhz = [](int) { return 1755.0; };  // of the n-th sample
  std::function<bool(int)> throttled;  // whether the n-th sample is, and takes half as long again

 private:
  std::function<double(const TimingPlan&, int)> clock_;
  int taken_ = 0;
};

double noise(int n) {
  Random random(derive_seed(1, "noise", static_cast<std::uint64_t>(n)));
  return random.normal();
}

}  // namespace

TEST_CASE("a sample is made long enough, and no longer than the cap") {
  struct Case {
    double us;
    int fewest;
    int most;
  };
  for (const Case c : {Case{0.5, 200, 200}, Case{6, 17, 60}, Case{90, 2, 4}, Case{5000, 1, 1}}) {
    ClockDevice device([&](const TimingPlan&, int) { return c.us; });
    const auto result = measure(device, {}, Effort::screen);
    REQUIRE(result);
    CAPTURE(c.us);
    const TimingPlan& last = device.plans.back();
    CHECK(last.launches_per_sample >= c.fewest);
    CHECK(last.launches_per_sample <= c.most);
    CHECK(last.launches_per_sample * std::max(c.us, 0.9) >= 100);
    CHECK(result->time_us.median == c.us);
  }
}

TEST_CASE("a first look that overestimates a short kernel is corrected by the next") {
  // One launch between two events costs 8 us more than a launch in a graph.
  ClockDevice device(
      [](const TimingPlan& plan, int) { return 2 + 8.0 / plan.launches_per_sample; });
  const auto result = measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.front().launches_per_sample == 1);
  CHECK(device.plans.back().launches_per_sample >= 75);
  CHECK(result->time_us.median < 2.2);
}

TEST_CASE("screening takes 20 to 30 samples, all kept") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 5 * noise(n); });
  const auto result = measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(result->time_us.samples >= 20);
  CHECK(result->time_us.samples <= 30);
  CHECK(static_cast<int>(result->timing.samples_us.size()) == result->time_us.samples);
  CHECK(result->timing.kind == TimeKind::measured);
  CHECK(device.plans.back().warm_up_samples >= 1);
}

TEST_CASE("screening a kernel of milliseconds takes fewer samples, and nine at least") {
  const auto samples_at = [](double us) {
    ClockDevice device([us](const TimingPlan&, int) { return us; });
    return measure(device, {}, Effort::screen)->time_us.samples;
  };
  CHECK(samples_at(500) == 25);
  CHECK(samples_at(1000) == 15);
  CHECK(samples_at(50'000) == 9);
}

TEST_CASE("a final measurement of a kernel of milliseconds takes fewer samples too, noisy or not") {
  const auto samples_at = [](double us, double spread) {
    ClockDevice device([=](const TimingPlan&, int n) { return us * (1 + spread * noise(n)); });
    return measure(device, {}, Effort::final_)->time_us.samples;
  };
  CHECK(samples_at(2000, 0) == 100);
  CHECK(samples_at(6000, 0) == 50);
  CHECK(samples_at(6000, 0.1) == doctest::Approx(50).epsilon(0.2));
  CHECK(samples_at(50'000, 0) == 30);
}

TEST_CASE("a final measurement stops at 100 samples when they agree") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  const auto result = measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(result->time_us.samples == 100);
}

TEST_CASE("a final measurement of a noisy kernel takes more samples, up to 300") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 10 * noise(n); });
  const auto result = measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(result->time_us.samples == 300);
  CHECK(result->timing.samples_us.size() == 300);

  ClockDevice middling([](const TimingPlan&, int n) { return 50 + 1.3 * noise(n); });
  const auto between = measure(middling, {}, Effort::final_);
  REQUIRE(between);
  CHECK(between->time_us.samples > 100);
  CHECK(between->time_us.samples < 300);
  CHECK((between->time_us.high - between->time_us.low) / 2 <= 0.005 * between->time_us.median);
}

TEST_CASE("times that still fall while the GPU warms up are thrown out") {
  ClockDevice device([](const TimingPlan&, int n) { return 100 * (1 + std::exp(-n / 6.0)); });
  const auto result = measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(result->time_us.median == doctest::Approx(100).epsilon(0.01));
  CHECK(result->timing.samples_us.front() < 102);
}

TEST_CASE("a clock that never settles does not hold the measurement up") {
  ClockDevice device([](const TimingPlan&, int n) { return n / 7 % 2 == 0 ? 100.0 : 150.0; });
  const auto result = measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.size() <= 12);
}

TEST_CASE("a slow kernel is not launched over and over only to settle") {
  ClockDevice device([](const TimingPlan&, int) { return 200'000.0; });
  REQUIRE(measure(device, {}, Effort::screen));
  CHECK(device.plans.size() == 2);
  CHECK(device.plans.back().launches_per_sample == 1);
}

TEST_CASE("a device that predicts is asked once") {
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    ClockDevice device([](const TimingPlan&, int) { return 12.5; });
    device.info_.times = TimeKind::predicted;
    const auto result = measure(device, {}, effort);
    REQUIRE(result);
    CHECK(device.plans.size() == 1);
    CHECK(result->timing.kind == TimeKind::predicted);
    CHECK(result->timing.model == "fake");
    CHECK(result->time_us.median == 12.5);
    CHECK(result->time_us.low == 12.5);
    CHECK(result->time_us.high == 12.5);
    CHECK(result->time_us.samples == 1);
  }
}

TEST_CASE("a fault at any point is passed on") {
  ClockDevice sound([](const TimingPlan&, int n) { return 50 + 10 * noise(n); });
  REQUIRE(measure(sound, {}, Effort::final_));
  const int calls = static_cast<int>(sound.plans.size());
  REQUIRE(calls > 3);
  for (int n = 0; n < calls; ++n) {
    ClockDevice device([](const TimingPlan&, int k) { return 50 + 10 * noise(k); });
    device.fault_after = n;
    const auto result = measure(device, {}, Effort::final_);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == FaultKind::trap);
    CHECK(result.error().message == "planted");
  }
  ClockDevice predicting([](const TimingPlan&, int) { return 1.0; });
  predicting.info_.times = TimeKind::predicted;
  predicting.fault_after = 0;
  CHECK_FALSE(measure(predicting, {}, Effort::screen));
}

TEST_CASE("a clock too coarse for one launch is given more of them") {
  // Ticks of 16 us: a 3 us launch takes no time at all, five of them one tick.
  ClockDevice device([](const TimingPlan& plan, int) {
    return std::floor(3.0 * plan.launches_per_sample / 16) * 16 / plan.launches_per_sample;
  });
  const auto result = measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.back().launches_per_sample >= 34);
  CHECK(result->time_us.median == doctest::Approx(3).epsilon(0.1));
}

TEST_CASE("a clock that only gives nonsense is a lost device, not a time") {
  for (const double nonsense : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ClockDevice device([&](const TimingPlan&, int) { return nonsense; });
    const auto result = measure(device, {}, Effort::screen);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == FaultKind::device_lost);
    CHECK(result.error().message.find("fake:0") != std::string::npos);
    CHECK(device.plans.back().launches_per_sample == 200);
  }
}

TEST_CASE("a race of launches: samples of 200 us, three a block, and what a race says") {
  ClockDevice device([](const TimingPlan&, int n) { return 20 + 0.05 * noise(n); });
  Launch one, other;
  one.kernel = KernelHandle{1};
  other.kernel = device.slower;
  const auto different = race_launches(device, {one, other}, {});
  REQUIRE(different);
  CHECK(different->result.standings[1].to_baseline.slower());
  CHECK(different->result.standings[1].to_baseline.ratio == doctest::Approx(1.03).epsilon(0.003));
  // Three samples a block, of the baseline twice.
  const auto good = static_cast<std::size_t>(different->result.blocks);
  CHECK(different->timings[0].samples_us.size() == 6 * good);
  CHECK(different->timings[1].samples_us.size() == 3 * good);
  CHECK(different->timings[1].gpu.sm_mhz.size() == 3 * good);
  CHECK(device.plans.back().launches_per_sample == 10);
  CHECK(device.plans.back().samples == 3);
  CHECK(device.plans.back().warm_up_samples == 1);

  const auto same = race_launches(device, {one, one}, {});
  REQUIRE(same);
  CHECK(same->result.standings[1].to_baseline.tied());

  device.fault_after = static_cast<int>(device.plans.size()) + 30;
  const auto broken = race_launches(device, {one, other}, {});
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
  REQUIRE(race_launches(steady, {{}, {}}, {}));
  CHECK(looks(steady) == 2);

  ClockDevice falling(clock);
  falling.mhz = [](int n) { return std::max(1800.0, 1980 - 0.1 * n); };
  const auto raced = race_launches(falling, {{}, {}}, {});
  REQUIRE(raced);
  CHECK(looks(falling) > 3);
  CHECK(looks(falling) < 20);
  CHECK(std::ranges::all_of(raced->timings[0].gpu.sm_mhz, [](double mhz) { return mhz == 1800; }));

  ClockDevice rising(clock);
  rising.mhz = [](int n) { return 1500 + 0.1 * n; };
  REQUIRE(race_launches(rising, {{}, {}}, {}));
  CHECK(looks(rising) == 2);

  ClockDevice endless(clock);
  endless.mhz = [](int n) { return 1980 * std::exp(-1e-4 * n); };
  REQUIRE(race_launches(endless, {{}, {}}, {}));
  CHECK(looks(endless) == 20);
}

TEST_CASE("where nobody tells the clock, a race begins when the kernel gets no slower") {
  const auto looks = [](const ClockDevice& device) {
    return std::ranges::count(device.plans, 0, &TimingPlan::warm_up_samples);
  };
  ClockDevice cooling([](const TimingPlan&, int n) { return std::min(22.0, 20 + 0.001 * n); });
  cooling.mhz = nullptr;
  REQUIRE(race_launches(cooling, {{}, {}}, {}));
  CHECK(looks(cooling) > 3);
  CHECK(looks(cooling) < 20);
}

TEST_CASE("a screen of a long launch that is slow ends with its first look") {
  const auto screen = [](double us, double slow_us) {
    ClockDevice device([us](const TimingPlan&, int n) { return us + 0.02 * noise(n); });
    const auto result = measure(device, {}, Effort::screen, slow_us);
    REQUIRE(result);
    CHECK(std::abs(result->time_us.median - us) < 0.01 * us);
    return result->timing.samples_us.size();
  };
  CHECK(screen(300, 299) == 3);
  CHECK(screen(300, 301) == 25);
  CHECK(screen(3000, 3001) == 9);
  // Several launches a sample: it costs little, and its first look is no figure.
  CHECK(screen(150, 100) == 25);
}

TEST_CASE("a race under a clock that wanders compares cycles and tells times") {
  const auto mhz = [](int n) { return 1500 * (1 + 0.05 * std::sin(0.7 * n)); };
  ClockDevice wandering([&](const TimingPlan&, int n) { return 20 * 1500 / mhz(n); });
  wandering.mhz = mhz;
  Launch one, other;
  one.kernel = KernelHandle{1};
  other.kernel = wandering.slower;
  const auto raced = race_launches(wandering, {one, other}, {});
  REQUIRE(raced);
  CHECK(raced->result.void_blocks == 0);
  const RaceRatio& ratio = raced->result.standings[1].to_baseline;
  CHECK(ratio.slower());
  CHECK(ratio.high - ratio.low < 0.001);
  CHECK(ratio.ratio == doctest::Approx(1.03).epsilon(0.001));
  const Estimate& time = raced->result.standings[1].time_us;
  CHECK(time.median == doctest::Approx(20.6).epsilon(0.03));
  CHECK(time.samples == static_cast<int>(raced->timings[1].samples_us.size()));

  // Its clock untold, it is told apart by less.
  wandering.mhz = nullptr;
  const auto untold = race_launches(wandering, {one, other}, {});
  REQUIRE(untold);
  const RaceRatio& loose = untold->result.standings[1].to_baseline;
  CHECK(loose.high - loose.low > 0.002);
}

TEST_CASE("a race leaves the samples of void blocks out") {
  // The second block's second baseline is 5% slower.
  int calls = 0;
  ClockDevice stepping([&](const TimingPlan& plan, int n) {
    const bool step = plan.samples == 3 && ++calls > 3 * 5 && calls <= 3 * 6;
    return (step ? 21 : 20) + 0.02 * noise(n);
  });
  const auto raced = race_launches(stepping, {{}, {}}, {});
  REQUIRE(raced);
  CHECK(raced->result.void_blocks == 1);
  CHECK_FALSE(raced->result.good[1]);
  CHECK(raced->timings[1].samples_us.size() ==
        3 * static_cast<std::size_t>(raced->result.blocks - 1));
}

TEST_CASE("a race with a cold cache takes a launch a sample") {
  ClockDevice device([](const TimingPlan& plan, int n) {
    return (plan.l2 == L2::cold ? 80 : 20) + 0.05 * noise(n);
  });
  const auto raced = race_launches(device, {{}, {}}, {}, L2::cold);
  REQUIRE(raced);
  CHECK(raced->timings[0].l2 == L2::cold);
  CHECK(raced->result.standings[0].time_us.median == doctest::Approx(80).epsilon(0.01));
  CHECK(device.plans.back().launches_per_sample == 1);
}

TEST_CASE("in a final measurement throttled samples are taken again; in a screen they are marked") {
  const auto passing = [](int n) { return n % 50 == 40; };
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  device.throttled = passing;
  const auto result = measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(result->time_us.samples == 100);
  CHECK(result->timing.gpu.throttled.empty());
  CHECK(result->timing.gpu.taken_again >= 1);
  CHECK(*std::ranges::max_element(result->timing.samples_us) < 51);
  CHECK(result->timing.gpu.sm_mhz == std::vector<double>(100, 1755));

  ClockDevice screened([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  screened.throttled = [](int n) { return n % 5 == 0; };
  const auto quick = measure(screened, {}, Effort::screen);
  REQUIRE(quick);
  CHECK(quick->timing.gpu.throttled.size() == 5);
  CHECK(quick->timing.gpu.taken_again == 0);
}

TEST_CASE("a GPU that stays throttled ends a final measurement all the same, and is marked") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  device.throttled = [](int) { return true; };
  const auto result = measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(result->time_us.samples == 100);
  CHECK(result->timing.gpu.throttled.size() == 100);
  CHECK(result->timing.gpu.taken_again == 300);
}

TEST_CASE("a cold cache is asked for by itself, a launch a sample") {
  ClockDevice device([](const TimingPlan& plan, int n) {
    return (plan.l2 == L2::cold ? 80 : 50) + 0.05 * noise(n);
  });
  const auto cold = measure_cold(device, {});
  REQUIRE(cold);
  CHECK(cold->timing.l2 == L2::cold);
  CHECK(cold->time_us.samples == 50);
  CHECK(cold->time_us.median == doctest::Approx(80).epsilon(0.01));
  CHECK(device.plans.size() == 1);
  CHECK(device.plans[0].launches_per_sample == 1);
}
