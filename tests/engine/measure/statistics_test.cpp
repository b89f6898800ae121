#include "engine/measure/statistics.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::measure;

namespace {

// Skewed, as times are: a floor and a long tail. Its true median is 10 * (1 + 0.05 * exp(0)).
std::vector<double> synthetic_times(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) samples.push_back(10 * (1 + 0.05 * std::exp(random.normal())));
  return samples;
}
constexpr double kTrueMedian = 10.5;

}  // namespace

TEST_CASE("median of odd, even, unsorted and empty samples") {
  CHECK(median(std::vector<double>{3, 1, 2}) == 2);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(std::isnan(median({})));
  CHECK(std::isnan(median(std::vector<double>{1, std::nan(""), 3})));
}

TEST_CASE("an estimate of nothing, of one sample and of equal samples") {
  const Interval none = estimate({});
  CHECK(std::isnan(none.value));
  const Interval one = estimate(std::vector<double>{5.5});
  CHECK(one.value == 5.5);
  CHECK(one.low == 5.5);
  CHECK(one.high == 5.5);
  const Interval equal = estimate(std::vector<double>(20, 3.0));
  CHECK(equal.low == 3.0);
  CHECK(equal.high == 3.0);
  const Interval broken = estimate(std::vector<double>{1, std::nan(""), 3});
  CHECK(std::isnan(broken.value));
  CHECK(std::isnan(broken.low));
}

TEST_CASE("the same samples and seed give the same interval, whatever their order") {
  auto samples = synthetic_times(3, 51);
  const Interval first = estimate(samples, 9);
  std::swap(samples[4], samples[40]);
  const Interval again = estimate(samples, 9);
  CHECK(first.low == again.low);
  CHECK(first.high == again.high);
  CHECK(first.low <= first.value);
  CHECK(first.value <= first.high);
}

TEST_CASE("an interval stays within the samples and narrows as they grow in number") {
  const auto few = synthetic_times(5, 20);
  const auto many = synthetic_times(5, 2000);
  const Interval wide = estimate(few);
  const Interval tight = estimate(many, 1, 500);
  CHECK(wide.low >= 10);
  CHECK((tight.high - tight.low) < (wide.high - wide.low) / 3);
  CHECK(tight.value == doctest::Approx(kTrueMedian).epsilon(0.01));
}

TEST_CASE("a single outlier moves neither the median nor its interval much") {
  auto samples = synthetic_times(11, 100);
  const Interval before = estimate(samples);
  samples[17] = 1e6;
  const Interval after = estimate(samples);
  CHECK(after.value == doctest::Approx(before.value).epsilon(0.005));
  CHECK(after.high < 12);
}

TEST_CASE("of two samples the interval can reach both") {
  const Interval two = estimate(std::vector<double>{1, 3});
  CHECK(two.value == 2);
  CHECK(two.low == 1);
  CHECK(two.high == 3);
}

TEST_CASE("an interval of symmetric samples is symmetric, also where their number is even") {
  for (const int count : {20, 21}) {
    std::vector<double> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), 0.0);
    double middle = 0;
    constexpr int runs = 40;
    for (int seed = 0; seed < runs; ++seed) {
      const Interval e = estimate(samples, static_cast<std::uint64_t>(seed), 500);
      middle += (e.low + e.high) / 2 / runs;
    }
    CAPTURE(count);
    CHECK(middle == doctest::Approx((count - 1) / 2.0).epsilon(0.02));
  }
}

TEST_CASE("a 95% interval covers the true median about as often as it says") {
  for (const int count : {25, 30, 100}) {
    int covered = 0;
    constexpr int runs = 400;
    for (int seed = 0; seed < runs; ++seed) {
      const auto samples = synthetic_times(derive_seed(17, "coverage", seed * 1000 + count), count);
      const Interval e = estimate(samples, seed, 500);
      if (e.low <= kTrueMedian && kTrueMedian <= e.high) ++covered;
    }
    CAPTURE(count);
    CAPTURE(covered);
    CHECK(covered >= runs * 90 / 100);
    CHECK(covered <= runs * 99 / 100);
  }
}

TEST_CASE("an interval of few samples covers their mean as often as it says") {
  Random random(11);
  int covered = 0;
  constexpr int kTimes = 4000;
  for (int i = 0; i < kTimes; ++i) {
    std::vector<double> samples;
    for (int j = 0; j < 5; ++j) samples.push_back(3 + random.normal());
    const Interval mean = mean_of_few(samples, 0.95);
    covered += mean.low <= 3 && 3 <= mean.high;
  }
  CHECK(covered > 0.94 * kTimes);
  CHECK(covered < 0.96 * kTimes);
  const Interval one = mean_of_few(std::vector<double>{7}, 0.95);
  CHECK(one.value == 7);
  CHECK(std::isinf(one.low));
  CHECK(std::isinf(one.high));
}

}  // namespace fa_tune::test
