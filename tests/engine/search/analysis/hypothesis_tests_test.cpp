#include "engine/search/analysis/hypothesis_tests.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::search;

TEST_CASE("Wilson's interval") {
  const Share some = share(3, 10);
  CHECK(some.rate() == doctest::Approx(0.3));
  CHECK(some.low == doctest::Approx(0.1078).epsilon(0.001));
  CHECK(some.high == doctest::Approx(0.6032).epsilon(0.001));
  CHECK(share(0, 10).low == 0);
  CHECK(share(0, 10).high == doctest::Approx(0.2775).epsilon(0.001));
  CHECK(share(10, 10).high == 1);
  CHECK(share(0, 0).high == 1);
}

TEST_CASE("Fisher's tea") {
  CHECK(fisher_p(share(3, 4), share(1, 4)) == doctest::Approx(34.0 / 70));
  CHECK(fisher_p(share(4, 4), share(0, 4)) == doctest::Approx(2.0 / 70));
  CHECK(fisher_p(share(0, 9), share(0, 3)) == doctest::Approx(1));
}

TEST_CASE("Holm's p values never fall below a smaller one's") {
  const std::vector<double> p = {0.03, 0.01, 0.04, 0.9};
  const auto adjusted = holm(p);
  CHECK(adjusted[0] == doctest::Approx(0.09));
  CHECK(adjusted[1] == doctest::Approx(0.04));
  CHECK(adjusted[2] == doctest::Approx(0.09));
  CHECK(adjusted[3] == doctest::Approx(0.9));
  CHECK(holm({}).empty());
}

TEST_CASE("the interval of a ratio of sums") {
  std::vector<GainAndCost> items(50, {0.0, 1.0});
  for (std::size_t i = 0; i < 25; ++i) items[i].gain = 1;
  const auto [low, high] = ratio_interval(items);
  // Half of 50 draws: 0.5 with a deviation of 0.0707.
  CHECK(low == doctest::Approx(0.36).epsilon(0.06));
  CHECK(high == doctest::Approx(0.64).epsilon(0.06));
}

}  // namespace fa_tune::test
