#include "engine/search/surrogate/candidate_pool.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "engine/util/distributions.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

namespace {

// The definition, summed: max(0, best - value) over the distribution of the value.
double summed(double best, double mean, double deviation, int freedom) {
  constexpr int kSlices = 200'000;
  constexpr double kWidest = 400;  // deviations
  double sum = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    // Narrower where the density is: t = s^3.
    const double s = (2 * (slice + 0.5) / kSlices - 1) * std::cbrt(kWidest);
    const double t = s * s * s;
    const double width = 3 * s * s * (2 * std::cbrt(kWidest) / kSlices);
    const double gain = best - (mean + deviation * t);
    if (gain > 0) sum += gain * student_at(t, freedom).density * width;
  }
  return sum;
}

}  // namespace

TEST_CASE("the expected improvement is the mean of how far a value is below the best") {
  for (const int freedom : {3, 4, 11, 40})
    for (const double mean : {-1.0, 0.0, 0.5, 2.0})
      CHECK(expected_improvement(0.25, mean, 0.6, freedom) ==
            doctest::Approx(summed(0.25, mean, 0.6, freedom)).epsilon(1e-3));
}

TEST_CASE("from many degrees of freedom on the expected improvement is that of the normal one") {
  const double few = expected_improvement(0, 1, 0.5, 59);
  const double many = expected_improvement(0, 1, 0.5, 60);
  CHECK(many == expected_improvement(0, 1, 0.5, 1'000'000));
  CHECK(few > many);
  CHECK(few < 1.3 * many);
}

TEST_CASE("with few values told what is expected to be bad keeps some promise") {
  // A little worse and well known, against much worse and hardly known.
  const auto known = [](int freedom) { return expected_improvement(0, 0.1, 0.05, freedom); };
  const auto unknown = [](int freedom) { return expected_improvement(0, 1, 0.25, freedom); };
  CHECK(unknown(3) > known(3));
  CHECK(unknown(60) < 0.01 * known(60));
}

}  // namespace fa_tune::test
