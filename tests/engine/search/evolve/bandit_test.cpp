#include "engine/search/evolve/bandit.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace fa_tune;

TEST_CASE("shares begin even, sum to one, and follow what an operator brings for its cost") {
  Bandit bandit(4);
  for (const double share : bandit.shares()) CHECK(share == doctest::Approx(0.25));
  for (int i = 0; i < 50; ++i) {
    bandit.tell(0, 0.1, 1);
    bandit.tell(1, 0.1, 4);  // the same for four times the cost
    bandit.tell(2, -0.5, 1);
  }
  const auto shares = bandit.shares();
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1));
  CHECK(shares[0] > shares[1]);
  CHECK(shares[1] > shares[2]);
  CHECK(shares[2] == shares[3]);  // a loss is no worse than nothing
  CHECK(shares[3] > 0.05);
}

TEST_CASE("old gains fade") {
  Bandit bandit(2);
  for (int i = 0; i < 20; ++i) bandit.tell(0, 1, 1);
  for (int i = 0; i < 1000; ++i) bandit.tell(1, 0.01, 1);
  const auto shares = bandit.shares();
  CHECK(shares[1] > shares[0]);
}
