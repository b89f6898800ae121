#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

TEST_CASE("normal: values are distributed as they should be, up to the tails") {
  constexpr std::size_t kValues = 400'003;  // no multiple of four
  std::vector<float> values(kValues, 99.0F);
  Random random(3);
  fill_normal(random, 2.0F, values);
  const auto share_below = [&](float x) {
    return static_cast<double>(std::ranges::count_if(values, [x](float v) { return v < x; })) /
           kValues;
  };
  for (const double x : {-3.0, -2.0, -1.0, -0.25, 0.0, 0.25, 1.0, 2.0, 3.0}) {
    CAPTURE(x);
    const double expected = std::erfc(-x / std::numbers::sqrt2) / 2;
    const double noise = std::sqrt(expected * (1 - expected) / kValues);
    CHECK(std::abs(share_below(static_cast<float>(2 * x)) - expected) < 4 * noise);
  }
  CHECK(std::ranges::max(values) < 2 * 4.4F);
  CHECK(std::ranges::max(values) > 2 * 4.0F);
}

TEST_CASE("normal: neighbours are independent and a seed's values are fixed") {
  std::vector<float> values(200'000), again(values.size());
  Random random(5), same(5);
  fill_normal(random, 1.0F, values);
  fill_normal(same, 1.0F, again);
  CHECK(values == again);
  for (std::size_t lag = 1; lag <= 4; ++lag) {
    CAPTURE(lag);
    double products = 0;
    for (std::size_t i = lag; i < values.size(); ++i)
      products += double{values[i]} * double{values[i - lag]};
    CHECK(std::abs(products / static_cast<double>(values.size())) <
          4 / std::sqrt(static_cast<double>(values.size())));
  }
}

}  // namespace fa_tune::test
