#include "engine/device/emulator/prediction/recorded_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

// 0, 1, ... in an order of its own.
std::vector<double> shuffled_count(int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back((i * 7) % count);
  return values;
}

}  // namespace

TEST_CASE("the middle 90% of 19 values and more are order statistics of n + 1") {
  // The 5% quantile of 99 values is the fifth of 100 places.
  const Middle of_99 = middle_90(shuffled_count(99));
  CHECK(of_99.low == doctest::Approx(4));
  CHECK(of_99.high == doctest::Approx(94));
  // Of 19 it is the outermost.
  const Middle of_19 = middle_90(shuffled_count(19));
  CHECK(of_19.low == doctest::Approx(0));
  CHECK(of_19.high == doctest::Approx(18));
  // Between two places: 0.05 * 31 = 1.55.
  const Middle of_30 = middle_90(shuffled_count(30));
  CHECK(of_30.low == doctest::Approx(0.55));
  CHECK(of_30.high == doctest::Approx(28.45));
}

TEST_CASE("of fewer values the outermost are moved away from the median") {
  // 9 values: the outermost are the 10% quantile, and log(10) / log(5) = 1.4307.
  const Middle of_9 = middle_90(shuffled_count(9));
  CHECK(of_9.low == doctest::Approx(4 - 4 * 1.4307).epsilon(1e-4));
  CHECK(of_9.high == doctest::Approx(4 + 4 * 1.4307).epsilon(1e-4));
  // Each side by itself: the one that is further out goes further.
  const std::vector<double> uneven = {-0.1, 0, 0.5};
  const Middle of_3 = middle_90(uneven);
  CHECK(of_3.low == doctest::Approx(-0.1 * std::log(10) / std::log(2)));
  CHECK(of_3.high == doctest::Approx(0.5 * std::log(10) / std::log(2)));
}

TEST_CASE("fewer than three values say nothing") {
  for (const int count : {0, 1, 2}) {
    const Middle middle = middle_90(shuffled_count(count));
    CHECK(std::isinf(middle.low));
    CHECK(std::isinf(middle.high));
  }
}

TEST_CASE("two kernels are told apart by the difference of errors at one shape") {
  // Differences of 0..10: k of them are of size 11 - k. The 80% quantile of the 55 sizes, at place
  // 0.8 * 56 = 44.8, is the sixth largest size but 0.8 of a place.
  std::vector<double> sizes;
  for (int i = 0; i <= 10; ++i)
    for (int j = 0; j < i; ++j) sizes.push_back(i - j);
  std::ranges::sort(sizes);
  const std::vector<double> count = shuffled_count(11);
  CHECK(apart_90(std::vector(1, count)) == doctest::Approx(0.2 * sizes[43] + 0.8 * sizes[44]));
  // What a shape is off by as a whole does not matter.
  std::vector<double> elsewhere = count;
  for (double& value : elsewhere) value += 100;
  CHECK(apart_90(std::vector{count, elsewhere}) == doctest::Approx(sizes[44]).epsilon(0.2));
  // Three pairs have no such quantile, four have.
  CHECK(std::isinf(apart_90(std::vector<std::vector<double>>{{1, 2, 3}})));
  CHECK(std::isinf(apart_90(std::vector<std::vector<double>>{{1}, {2}, {3}, {4}, {5}})));
  CHECK(apart_90(std::vector<std::vector<double>>{{0, 1}, {0, 1}, {0, 1}, {0, 3}}) == 3);
}

TEST_CASE("what is recorded is of kernels in some number, below above") {
  for (std::size_t i = 0; i < kKernelKinds; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    INFO(name_of(kind));
    const RecordedErrors& errors = recorded_errors(kind);
    CHECK(errors.kernels >= 3);
    CHECK(errors.shapes >= 1);
    CHECK(std::isfinite(errors.low));
    CHECK(errors.low < errors.high);
    CHECK(errors.apart > 0);
    // An error of a factor of 20 is a slip of whoever wrote the table.
    CHECK(std::abs(errors.low) < 3);
    CHECK(std::abs(errors.high) < 3);
  }
}

}  // namespace fa_tune::test
