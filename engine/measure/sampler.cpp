#include "engine/measure/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "engine/measure/timing.hpp"

namespace fa_tune::measure {
namespace {

// A sample must last long enough that the clock's resolution (0.5 us for events) and what it costs
// to begin and to end a graph are lost in it. That is 2.3 to 2.8 us on an H200
// (tools/bench/results/sample_length): over 1% of a screen's sample, though about the same for all
// kernels that it ranks, and 0.3% of a final's.
constexpr double kScreenSampleUs = 200;
constexpr double kFinalSampleUs = 1000;
constexpr int kMostLaunches = 1000;

constexpr int kLookSamples = 5;
constexpr int kQuickLookSamples = 3;
constexpr int kMostLooks = 8;
constexpr double kLookBudgetUs = 50'000;  // a slow kernel warms the GPU up in a single look
constexpr double kSettled = 0.01;         // two looks that differ by less, relatively

constexpr double kHeatingUs = 100'000;  // a look at the clock under load
constexpr int kMostHeatings = 20;
constexpr double kWandering = 0.01;  // the middle four fifths of its samples' clocks differ by more
constexpr double kSteady = 0.003;    // a look that is lower by less, relatively, is as low

// A launch of milliseconds varies less than a short one, and costs more.
constexpr int kScreenSamples = 25;
constexpr int kLeastScreenSamples = 9;
constexpr double kScreenBudgetUs = 15'000;
constexpr int kFinalSamples = 100;
constexpr int kLeastFinalSamples = 30;
constexpr double kFinalBudgetUs = 300'000;
constexpr int kMoreSamples = 50;
constexpr int kBlockSamples = 3;  // of one kernel in one block of a race
constexpr int kMostSamples = 300;
constexpr int kColdSamples = 50;
// Of single launches, each behind what is restored: more, since they vary more than long samples,
// and each costs at least so much more than its launch.
constexpr int kRestoredScreenSamples = 100;
constexpr int kMostRestoredBlockSamples = 15;
constexpr double kRestoringUs = 40;
constexpr double kFinalHalfWidth = 0.005;  // of the median

bool usable(double us) { return std::isfinite(us) && us > 0; }

bool usable(const device::Timing& timing) {
  return !timing.samples_us.empty() &&
         std::all_of(timing.samples_us.begin(), timing.samples_us.end(),
                     [](double us) { return usable(us); });
}

int launches_for(double us, double sample_us) {
  return static_cast<int>(std::clamp(std::ceil(sample_us / us), 1.0, double{kMostLaunches}));
}

// What is timed, wherever and how often.
struct Work {
  device::Device& device;
  const device::Launch& launch;
  const device::BufferChanges& restore;

  bool restores() const { return !restore.empty(); }
  device::TimingPlan plan(int launches, int samples, int warm_up,
                          device::L2 l2 = device::L2::warm) const {
    device::TimingPlan plan{launches, samples, warm_up, l2};
    plan.restore = restore;
    return plan;
  }
  std::expected<device::Timing, device::Fault> time(const device::TimingPlan& plan) const {
    return device.time(launch, plan);
  }
};

// Takes samples; where the clock is too coarse for the plan (a sample of nothing, or nonsense),
// again with more launches a sample, which `plan` then holds. With the most launches even an empty
// kernel takes over 100 us: if that too is nonsense the device's clock is broken, and so the device
// is.
std::expected<device::Timing, device::Fault> take(const Work& work, device::TimingPlan& plan) {
  for (;;) {
    auto timing = work.time(plan);
    if (!timing || usable(*timing)) return timing;
    if (plan.launches_per_sample >= kMostLaunches) {
      return std::unexpected(
          device::Fault{device::FaultKind::device_lost,
                        fmt::format("{}: the clock gives no usable time for {} launches",
                                    work.device.info().id, plan.launches_per_sample)});
    }
    plan.launches_per_sample = std::min(plan.launches_per_sample * 4, kMostLaunches);
  }
}

// Near enough that changing the plan is not worth another look.
bool close(int launches, int wanted) {
  return std::abs(launches - wanted) <= std::max(launches, wanted) / 5;
}

struct Settled {
  int launches = 1;                      // a sample
  double us = 0;                         // a launch, about
  std::optional<device::Timing> enough;  // the first look, if that was all to be known
};

// Looks until the launches a sample needs are known and two looks agree: clocks rise, caches fill
// and the driver settles meanwhile, so what the looks saw is thrown out. A screen comes after the
// gate, and of a launch that lasts a sample one look is enough. If a launch takes longer than
// `slow_us`, the first look at whole samples is all that is taken.
std::expected<Settled, device::Fault> settle(
    const Work& work, Effort effort = Effort::final_,
    double slow_us = std::numeric_limits<double>::infinity()) {
  const bool quick = effort == Effort::screen;
  const double sample_us = quick ? kScreenSampleUs : kFinalSampleUs;
  device::TimingPlan plan = work.plan(1, quick ? kQuickLookSamples : kLookSamples, 2);
  int fewest = 1;  // with fewer the clock gave nonsense
  double spent_us = 0;
  double previous_us = 0;
  for (int look = 0; look < kMostLooks && spent_us < kLookBudgetUs; ++look) {
    const int asked = plan.launches_per_sample;
    auto timing = take(work, plan);
    if (!timing) return std::unexpected(timing.error());
    if (plan.launches_per_sample > asked) fewest = plan.launches_per_sample;
    const double us = median(timing->samples_us);
    if (quick && us >= sample_us) {
      Settled known{1, us, {}};
      if (us > slow_us) known.enough = std::move(*timing);
      return known;
    }
    spent_us += us * plan.launches_per_sample * (plan.samples + plan.warm_up_samples);
    const int wanted = std::max(work.restores() ? 1 : launches_for(us, sample_us), fewest);
    const bool agree = std::abs(us - previous_us) <= kSettled * us;
    previous_us = us;
    const bool whole = close(plan.launches_per_sample, wanted);
    // A restored launch is a sample by itself, too short for a few of them to tell.
    if (quick && whole && us > slow_us && !work.restores())
      return Settled{plan.launches_per_sample, us, std::move(*timing)};
    if (!whole) {
      plan.launches_per_sample = wanted;
    } else if (agree) {
      break;
    }
  }
  return Settled{plan.launches_per_sample, previous_us, {}};
}

// A GPU that has rested runs at its highest clock until its power control has met the load, some
// tenths of a second. What is published is the clock that it keeps up: launches until that falls no
// further, or two seconds are over. (At its power limit it never stands still: up as well as down.)
//
// Returns the clocks of the last look's samples, where they are known.
std::expected<std::vector<double>, device::Fault> heat(const Work& work, const Settled& policy) {
  const double sample = policy.us * policy.launches + (work.restores() ? kRestoringUs : 0);
  const int samples = std::max(1, static_cast<int>(kHeatingUs / std::max(sample, 1.0)));
  double previous = 0;
  std::vector<double> clocks;
  for (int look = 0; look < kMostHeatings; ++look) {
    auto timing = work.time(work.plan(policy.launches, samples, 0));
    if (!timing) return std::unexpected(timing.error());
    clocks = std::move(timing->gpu.sm_mhz);
    const double mhz = median(clocks);
    // Where nobody tells the clock, the kernel does.
    const double speed = std::isfinite(mhz) ? mhz : 1 / median(timing->samples_us);
    if (look > 0 && speed >= (1 - kSteady) * previous) break;
    previous = speed;
  }
  return clocks;
}

// The clock, if it does not stand still but wanders, as at the power limit; else 0.
double wandering_mhz(std::vector<double> clocks) {
  if (clocks.size() < 2) return 0;
  std::ranges::sort(clocks);
  const double middle = median(clocks);
  const double low = clocks[clocks.size() / 10],
               high = clocks[clocks.size() - 1 - clocks.size() / 10];
  return high - low > kWandering * middle ? middle : 0;
}

// What a sampling says in a race: the time, or, if `mhz` is not 0 and its clock is known, that at
// mhz.
double raced_us(const device::Timing& timing, double mhz) {
  const auto kilocycles = mhz > 0 ? kilocycles_of(timing) : std::nullopt;
  return kilocycles ? *kilocycles * 1000 / mhz : median(timing.samples_us);
}

// How often throttled samples are taken again, in all. Each time a GPU is given twice as long to
// cool.
class Patience {
 public:
  explicit Patience(int times) : left_(times) {}

  // False if there is none left.
  bool wait() {
    if (left_ == 0) return false;
    --left_;
    std::this_thread::sleep_for(pause_);
    pause_ *= 2;
    return true;
  }

 private:
  int left_;
  std::chrono::milliseconds pause_{100};
};
constexpr int kFinalPatience = 3;
constexpr int kRacePatience = 5;

// As take(), with others in the place of throttled samples, as far as patience goes.
std::expected<device::Timing, device::Fault> take_cool(const Work& work, device::TimingPlan& plan,
                                                       Patience& patience) {
  auto timing = take(work, plan);
  while (timing && !timing->gpu.throttled.empty() && patience.wait()) {
    device::TimingPlan again = plan;
    again.samples = static_cast<int>(timing->gpu.throttled.size());
    auto more = take(work, again);
    if (!more) return more;
    // Samples of another length have another spread and are not mixed with these.
    if (again.launches_per_sample != plan.launches_per_sample) break;
    drop_throttled(*timing);
    more->gpu.taken_again = again.samples;
    append(*timing, *more);
  }
  return timing;
}

int samples_for(Effort effort, const Settled& policy, bool restores) {
  const auto within = [&](double budget_us, double least, double most) {
    return static_cast<int>(std::clamp(budget_us / (policy.us * policy.launches), least, most));
  };
  if (effort == Effort::final_) return within(kFinalBudgetUs, kLeastFinalSamples, kFinalSamples);
  return within(kScreenBudgetUs, kLeastScreenSamples,
                restores ? kRestoredScreenSamples : kScreenSamples);
}

bool narrow(const Interval& time) {
  return (time.high - time.low) / 2 <= kFinalHalfWidth * time.value;
}

}  // namespace

std::expected<Measurement, device::Fault> measure(device::Device& device,
                                                  const device::Launch& launch, Effort effort,
                                                  double slow_us,
                                                  const device::BufferChanges& restore) {
  const Work work{device, launch, restore};
  if (device.info().times == device::TimeKind::predicted) {
    device::TimingPlan plan = work.plan(1, 1, 0);
    plan.complete = effort == Effort::final_;
    auto timing = work.time(plan);
    if (!timing) return std::unexpected(timing.error());
    const Interval time{timing->samples_us.front(), timing->low_us, timing->high_us};
    return Measurement{std::move(*timing), time};
  }

  auto launches = settle(work, effort, slow_us);
  if (!launches) return std::unexpected(launches.error());
  if (launches->enough) {
    const Interval time = estimate(launches->enough->samples_us);
    return Measurement{std::move(*launches->enough), time};
  }
  Patience patience(effort == Effort::screen ? 0 : kFinalPatience);
  const int fewest = samples_for(effort, *launches, work.restores());
  device::TimingPlan plan = work.plan(launches->launches, fewest, 3);
  auto timing = take_cool(work, plan, patience);
  if (!timing) return std::unexpected(timing.error());
  Interval time = estimate(timing->samples_us);

  plan.samples = kMoreSamples;
  // One that fills the budget with fewer samples is not given three times as many.
  const int most = fewest < kFinalSamples ? fewest : kMostSamples;
  const auto taken = [&] { return static_cast<int>(timing->samples_us.size()); };
  while (effort == Effort::final_ && (taken() < fewest || (!narrow(time) && taken() < most))) {
    const int before = plan.launches_per_sample;
    auto more = take_cool(work, plan, patience);
    if (!more) return std::unexpected(more.error());
    // Samples of different length have different spread and are not mixed.
    if (plan.launches_per_sample != before) *timing = device::Timing{};
    append(*timing, *more);
    time = estimate(timing->samples_us);
  }
  return Measurement{std::move(*timing), time};
}

std::expected<Measurement, device::Fault> measure_cold(device::Device& device,
                                                       const device::Launch& launch,
                                                       const device::BufferChanges& restore) {
  const Work work{device, launch, restore};
  Patience patience(kFinalPatience);
  device::TimingPlan plan = work.plan(1, kColdSamples, 3, device::L2::cold);
  auto timing = take_cool(work, plan, patience);
  if (!timing) return std::unexpected(timing.error());
  const Interval time = estimate(timing->samples_us);
  return Measurement{std::move(*timing), time};
}

std::expected<LaunchRace, RaceFault> race_launches(device::Device& device,
                                                   const std::vector<device::Launch>& launches,
                                                   const RaceOptions& options, device::L2 l2,
                                                   const device::BufferChanges& restore) {
  struct Taken {
    std::size_t contestant;
    int block;
    device::Timing timing;
  };
  std::size_t under_way = 0;
  std::vector<device::TimingPlan> plans;
  double mhz = 0;  // at which times are compared
  const auto work = [&](std::size_t i) { return Work{device, launches[i], restore}; };
  for (; under_way < launches.size(); ++under_way) {
    // A cold cache wants one launch a sample; settling warms the GPU up all the same.
    const auto settled = settle(work(under_way));
    if (!settled) return std::unexpected(RaceFault{under_way, settled.error()});
    if (under_way == 0) {
      const auto clocks = heat(work(0), *settled);
      if (!clocks) return std::unexpected(RaceFault{under_way, clocks.error()});
      mhz = wandering_mhz(*clocks);
    }
    const int samples =
        restore.empty()
            ? kBlockSamples
            : static_cast<int>(std::clamp<double>(kBlockSamples * kScreenSampleUs / settled->us,
                                                  kBlockSamples, kMostRestoredBlockSamples));
    plans.push_back(
        work(under_way).plan(l2 == device::L2::cold ? 1 : settled->launches, samples, 1, l2));
  }
  Patience patience(kRacePatience);
  std::vector<Taken> all;
  const RaceClock clock = [&](std::size_t i, int block) -> std::expected<double, device::Fault> {
    under_way = i;
    auto timing = take_cool(work(i), plans[i], patience);
    if (!timing) return std::unexpected(timing.error());
    const double us = raced_us(*timing, mhz);
    all.push_back({i, block, std::move(*timing)});
    return us;
  };
  auto result = race(launches.size(), clock, options);
  if (!result) return std::unexpected(RaceFault{under_way, result.error()});
  LaunchRace raced{std::move(*result), mhz > 0, std::vector<device::Timing>(launches.size())};
  for (const Taken& taken : all)
    if (raced.result.good[static_cast<std::size_t>(taken.block)])
      append(raced.timings[taken.contestant], taken.timing);
  return raced;
}

}  // namespace fa_tune::measure
