#include "engine/measure/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "engine/measure/timing.hpp"
#include "tests/engine/measure/clock_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::measure;
using test::ClockDevice;
using test::noise;

TEST_CASE("a sample is made long enough, and no longer than the cap") {
  struct Case {
    double us;
    int fewest;
    int most;
  };
  for (const Case c : {Case{0.1, 1000, 1000}, Case{0.5, 400, 400}, Case{6, 17, 60}, Case{90, 2, 4},
                       Case{5000, 1, 1}}) {
    ClockDevice device([&](const TimingPlan&, int) { return c.us; });
    const auto result = measure::measure(device, {}, Effort::screen);
    REQUIRE(result);
    CAPTURE(c.us);
    const TimingPlan& last = device.plans.back();
    CHECK(last.launches_per_sample >= c.fewest);
    CHECK(last.launches_per_sample <= c.most);
    CHECK(last.launches_per_sample * c.us >= 100);
    CHECK(result->time_us.value == c.us);
  }
}

TEST_CASE("what beginning and ending a sample costs is lost in a final measurement and in a race") {
  const auto with_ends = [](const TimingPlan& plan, int) {
    return 3 + 1.6 / plan.launches_per_sample;
  };
  ClockDevice device(with_ends);
  const auto alone = measure::measure(device, {}, Effort::final_);
  REQUIRE(alone);
  CHECK(alone->time_us.value < 3 * 1.002);
  const auto raced = race_launches(device, std::vector<Launch>(2));
  REQUIRE(raced);
  CHECK(raced->timings[1].samples_us.front() < 3 * 1.002);
  CHECK(raced->timings[1].launches_per_sample == alone->timing.launches_per_sample);
}

TEST_CASE("a first look that overestimates a short kernel is corrected by the next") {
  // One launch between two events costs 8 us more than a launch in a graph.
  ClockDevice device(
      [](const TimingPlan& plan, int) { return 2 + 8.0 / plan.launches_per_sample; });
  const auto result = measure::measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.front().launches_per_sample == 1);
  CHECK(device.plans.back().launches_per_sample >= 75);
  CHECK(result->time_us.value < 2.2);
}

TEST_CASE("screening takes 20 to 30 samples, all kept") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 5 * noise(n); });
  const auto result = measure::measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(static_cast<int>(result->timing.samples_us.size()) >= 20);
  CHECK(static_cast<int>(result->timing.samples_us.size()) <= 30);
  CHECK(static_cast<int>(result->timing.samples_us.size()) ==
        static_cast<int>(result->timing.samples_us.size()));
  CHECK(result->timing.kind == TimeKind::measured);
  CHECK(device.plans.back().warm_up_samples >= 1);
}

TEST_CASE("screening a kernel of milliseconds takes fewer samples, and nine at least") {
  const auto samples_at = [](double us) {
    ClockDevice device([us](const TimingPlan&, int) { return us; });
    return static_cast<int>(measure::measure(device, {}, Effort::screen)->timing.samples_us.size());
  };
  CHECK(samples_at(500) == 25);
  CHECK(samples_at(1000) == 15);
  CHECK(samples_at(50'000) == 9);
}

TEST_CASE("a final measurement of a kernel of milliseconds takes fewer samples too, noisy or not") {
  const auto samples_at = [](double us, double spread) {
    ClockDevice device([=](const TimingPlan&, int n) { return us * (1 + spread * noise(n)); });
    return static_cast<int>(measure::measure(device, {}, Effort::final_)->timing.samples_us.size());
  };
  CHECK(samples_at(2000, 0) == 100);
  CHECK(samples_at(6000, 0) == 50);
  CHECK(samples_at(6000, 0.1) == doctest::Approx(50).epsilon(0.2));
  CHECK(samples_at(50'000, 0) == 30);
}

TEST_CASE("a final measurement stops at 100 samples when they agree") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  const auto result = measure::measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(static_cast<int>(result->timing.samples_us.size()) == 100);
}

TEST_CASE("a final measurement of a noisy kernel takes more samples, up to 300") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 10 * noise(n); });
  const auto result = measure::measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(static_cast<int>(result->timing.samples_us.size()) == 300);
  CHECK(result->timing.samples_us.size() == 300);

  ClockDevice middling([](const TimingPlan&, int n) { return 50 + 1.3 * noise(n); });
  const auto between = measure::measure(middling, {}, Effort::final_);
  REQUIRE(between);
  CHECK(static_cast<int>(between->timing.samples_us.size()) > 100);
  CHECK(static_cast<int>(between->timing.samples_us.size()) < 300);
  CHECK((between->time_us.high - between->time_us.low) / 2 <= 0.005 * between->time_us.value);
}

TEST_CASE("times that still fall while the GPU warms up are thrown out") {
  ClockDevice device([](const TimingPlan&, int n) { return 100 * (1 + std::exp(-n / 6.0)); });
  const auto result = measure::measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(result->time_us.value == doctest::Approx(100).epsilon(0.01));
  CHECK(result->timing.samples_us.front() < 102);
}

TEST_CASE("a clock that never settles does not hold the measurement up") {
  ClockDevice device([](const TimingPlan&, int n) { return n / 7 % 2 == 0 ? 100.0 : 150.0; });
  const auto result = measure::measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.size() <= 12);
}

TEST_CASE("a slow kernel is not launched over and over only to settle") {
  ClockDevice device([](const TimingPlan&, int) { return 200'000.0; });
  REQUIRE(measure::measure(device, {}, Effort::screen));
  CHECK(device.plans.size() == 2);
  CHECK(device.plans.back().launches_per_sample == 1);
}

TEST_CASE("a device that predicts is asked once") {
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    ClockDevice device([](const TimingPlan&, int) { return 12.5; });
    device.device_info.times = TimeKind::predicted;
    const auto result = measure::measure(device, {}, effort);
    REQUIRE(result);
    CHECK(device.plans.size() == 1);
    CHECK(result->timing.kind == TimeKind::predicted);
    CHECK(result->timing.model == "fake");
    CHECK(result->time_us.value == 12.5);
    CHECK(result->time_us.low == 6.25);
    CHECK(result->time_us.high == 50);
    CHECK(static_cast<int>(result->timing.samples_us.size()) == 1);
  }
}

TEST_CASE("a fault at any point is passed on") {
  ClockDevice sound([](const TimingPlan&, int n) { return 50 + 10 * noise(n); });
  REQUIRE(measure::measure(sound, {}, Effort::final_));
  const int calls = static_cast<int>(sound.plans.size());
  REQUIRE(calls > 3);
  for (int n = 0; n < calls; ++n) {
    ClockDevice device([](const TimingPlan&, int k) { return 50 + 10 * noise(k); });
    device.fault_after = n;
    const auto result = measure::measure(device, {}, Effort::final_);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == FaultKind::trap);
    CHECK(result.error().message == "planted");
  }
  ClockDevice predicting([](const TimingPlan&, int) { return 1.0; });
  predicting.device_info.times = TimeKind::predicted;
  predicting.fault_after = 0;
  CHECK_FALSE(measure::measure(predicting, {}, Effort::screen));
}

TEST_CASE("a clock too coarse for one launch is given more of them") {
  // Ticks of 16 us: a 3 us launch takes no time at all, five of them one tick.
  ClockDevice device([](const TimingPlan& plan, int) {
    return std::floor(3.0 * plan.launches_per_sample / 16) * 16 / plan.launches_per_sample;
  });
  const auto result = measure::measure(device, {}, Effort::screen);
  REQUIRE(result);
  CHECK(device.plans.back().launches_per_sample >= 34);
  CHECK(result->time_us.value == doctest::Approx(3).epsilon(0.1));
}

TEST_CASE("a clock that only gives nonsense is a lost device, not a time") {
  for (const double nonsense : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    ClockDevice device([&](const TimingPlan&, int) { return nonsense; });
    const auto result = measure::measure(device, {}, Effort::screen);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == FaultKind::device_lost);
    CHECK(result.error().message.find("fake:0") != std::string::npos);
    CHECK(device.plans.back().launches_per_sample == 1000);
  }
}

TEST_CASE("a screen of a long launch that is slow ends with its first look") {
  const auto screen = [](double us, double slow_us) {
    ClockDevice device([us](const TimingPlan&, int n) { return us + 0.02 * noise(n); });
    const auto result = measure::measure(device, {}, Effort::screen, slow_us);
    REQUIRE(result);
    CHECK(std::abs(result->time_us.value - us) < 0.01 * us);
    return result->timing.samples_us.size();
  };
  CHECK(screen(300, 299) == 3);
  CHECK(screen(300, 301) == 25);
  CHECK(screen(3000, 3001) == 9);
}

TEST_CASE("a screen of a short launch that is slow ends with its first look at whole samples") {
  const auto screen = [](double us, double slow_us, const BufferChanges& restore = {}) {
    ClockDevice device([us](const TimingPlan&, int n) { return us + 0.005 * us * noise(n); });
    const auto result = measure::measure(device, {}, Effort::screen, slow_us, restore);
    REQUIRE(result);
    CHECK(std::abs(result->time_us.value - us) < 0.02 * us);
    return std::pair(result->timing.samples_us.size(), device.plans.back().launches_per_sample);
  };
  CHECK(screen(150, 149) == std::pair(std::size_t{3}, 2));
  CHECK(screen(150, 151) == std::pair(std::size_t{25}, 2));
  CHECK(screen(5, 4) == std::pair(std::size_t{3}, 40));
  CHECK(screen(5, 6) == std::pair(std::size_t{25}, 40));
  // Three single launches would not tell.
  CHECK(screen(5, 4, {{}, {{BufferHandle{1}, BufferHandle{2}, 4}}}).first == 100);
}

TEST_CASE("in a final measurement throttled samples are taken again; in a screen they are marked") {
  const auto passing = [](int n) { return n % 50 == 40; };
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  device.throttled = passing;
  const auto result = measure::measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(static_cast<int>(result->timing.samples_us.size()) == 100);
  CHECK(result->timing.gpu.throttled.empty());
  CHECK(result->timing.gpu.taken_again >= 1);
  CHECK(*std::ranges::max_element(result->timing.samples_us) < 51);
  CHECK(result->timing.gpu.sm_mhz == std::vector<double>(100, 1755));

  ClockDevice screened([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  screened.throttled = [](int n) { return n % 5 == 0; };
  const auto quick = measure::measure(screened, {}, Effort::screen);
  REQUIRE(quick);
  CHECK(quick->timing.gpu.throttled.size() == 5);
  CHECK(quick->timing.gpu.taken_again == 0);
}

TEST_CASE("a GPU that stays throttled ends a final measurement all the same, and is marked") {
  ClockDevice device([](const TimingPlan&, int n) { return 50 + 0.05 * noise(n); });
  device.throttled = [](int) { return true; };
  const auto result = measure::measure(device, {}, Effort::final_);
  REQUIRE(result);
  CHECK(static_cast<int>(result->timing.samples_us.size()) == 100);
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
  CHECK(static_cast<int>(cold->timing.samples_us.size()) == 50);
  CHECK(cold->time_us.value == doctest::Approx(80).epsilon(0.01));
  CHECK(device.plans.size() == 1);
  CHECK(device.plans[0].launches_per_sample == 1);
}

TEST_CASE("where something is restored, every sample is of one launch behind it") {
  const BufferChanges restore{{}, {{BufferHandle{1}, BufferHandle{2}, 4}}};
  constexpr double kAny = std::numeric_limits<double>::infinity();
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    ClockDevice device([](const TimingPlan&, int n) { return 5 + 0.05 * noise(n); });
    const auto result = measure::measure(device, {}, effort, kAny, restore);
    REQUIRE(result);
    CHECK(result->timing.restored);
    CHECK(result->timing.samples_us.size() >= 100);
    for (const TimingPlan& plan : device.plans) {
      CHECK(plan.launches_per_sample == 1);
      CHECK(plan.restore.copies.size() == 1);
    }
    CHECK(detail_json_of(result->timing).ends_with(R"(,"restored":true})"));
    REQUIRE(measure::measure(device, {}, effort));
    CHECK(device.plans.back().restore.empty());
    CHECK(device.plans.back().launches_per_sample > 1);
  }
  ClockDevice cold([](const TimingPlan&, int) { return 5; });
  REQUIRE(measure_cold(cold, {}, restore));
  CHECK(cold.plans.back().restore.copies.size() == 1);
  ClockDevice predicting([](const TimingPlan& plan, int) { return plan.restore.empty() ? 1 : 9; });
  predicting.device_info.times = TimeKind::predicted;
  CHECK(measure::measure(predicting, {}, Effort::screen, kAny, restore)->time_us.value == 9);
}

}  // namespace fa_tune::test
