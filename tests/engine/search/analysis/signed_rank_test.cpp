#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "engine/search/analysis/hypothesis_tests.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

TEST_CASE("six differences that point one way have the p and the interval of the tables") {
  const std::vector<double> differences = {1, 2, 3, 4, 5, 6};
  const SignedRank rank = signed_rank(differences);
  CHECK(rank.p == doctest::Approx(2.0 / 64));
  CHECK(rank.center == doctest::Approx(3.5));
  CHECK(rank.low == 1);
  CHECK(rank.high == 6);
}

TEST_CASE("a worked example: Hollander and Wolfe's depression scores") {
  // Nine patients, second visit less first: their p is 0.039 two-sided, the center -0.46.
  const std::vector<double> first = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> second = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(second[i] - first[i]);
  const SignedRank rank = signed_rank(differences);
  CHECK(rank.p == doctest::Approx(0.0390625));
  CHECK(rank.center == doctest::Approx(-0.46));
  CHECK(rank.low == doctest::Approx(-0.786));
  CHECK(rank.high == doctest::Approx(-0.010));
}

TEST_CASE("equal pairs say nothing of a direction") {
  std::vector<double> differences(40, 0.0);
  CHECK(signed_rank(differences).p == 1);
  CHECK(signed_rank(differences).low == 0);
  for (int i = 0; i < 5; ++i) differences[static_cast<std::size_t>(i)] = 0.1;
  CHECK(signed_rank(differences).p == doctest::Approx(2.0 / 32));
  CHECK(signed_rank(differences).center == 0);
}

TEST_CASE("the order of all means is that of the list of them") {
  Random random(11);
  for (int run = 0; run < 50; ++run) {
    std::vector<double> differences;
    const std::size_t n = 6 + random.below(60);
    // Many ties, zeros and both signs.
    for (std::size_t i = 0; i < n; ++i)
      differences.push_back((static_cast<double>(random.below(9)) - 4) * 0.1);
    std::vector<double> means;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j) means.push_back((differences[i] + differences[j]) / 2);
    std::sort(means.begin(), means.end());
    const SignedRank rank = signed_rank(differences);
    CHECK(rank.center == (means[(means.size() - 1) / 2] + means[means.size() / 2]) / 2);
    CHECK(std::binary_search(means.begin(), means.end(), rank.low));
    CHECK(std::binary_search(means.begin(), means.end(), rank.high));
  }
}

TEST_CASE("the normal approximation goes on where the exact count ends") {
  Random random(5);
  std::vector<double> differences;
  for (int i = 0; i < kExactPairs; ++i) differences.push_back(random.normal() + 0.3);
  const SignedRank exact = signed_rank(differences);
  differences.push_back(exact.center);
  const SignedRank approximate = signed_rank(differences);
  CHECK(approximate.p == doctest::Approx(exact.p).epsilon(0.35));
  CHECK(approximate.low == doctest::Approx(exact.low).epsilon(0.15));
  CHECK(approximate.high == doctest::Approx(exact.high).epsilon(0.15));
}

TEST_CASE("intervals cover the center, and p errs, at the stated rate, whatever the errors") {
  const auto heavy = [](Random& random) {
    return std::tan(std::numbers::pi * (random.uniform() - 0.5));  // Cauchy
  };
  const auto normal = [](Random& random) { return random.normal(); };
  for (const int n : {6, 12, 30, 70})
    for (const bool tails : {false, true}) {
      CAPTURE(n);
      CAPTURE(tails);
      int covered = 0;
      int claimed = 0;
      constexpr int kRuns = 1000;
      for (int run = 0; run < kRuns; ++run) {
        Random random(derive_seed(7, "cover", static_cast<std::uint64_t>(run * 100 + n)));
        std::vector<double> differences;
        for (int i = 0; i < n; ++i) differences.push_back(tails ? heavy(random) : normal(random));
        const SignedRank rank = signed_rank(differences);
        covered += rank.low <= 0 && rank.high >= 0;
        claimed += rank.p <= 0.05;
      }
      // 95% of 1000 lies within 930..970 in 99.6% of cases; small n err on the safe side.
      CHECK(covered >= 930);
      CHECK(covered <= 985);
      CHECK(claimed <= 70);
    }
}

}  // namespace fa_tune::test
