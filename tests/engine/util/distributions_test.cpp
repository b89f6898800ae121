#include "engine/util/distributions.hpp"

#include <cmath>
#include <initializer_list>
#include <numbers>

#include <doctest/doctest.h>

namespace fa_tune::test {

TEST_CASE("Student's t is that of the tables") {
  CHECK(student_t(1, 0.95) == doctest::Approx(12.7062).epsilon(1e-5));
  CHECK(student_t(2, 0.95) == doctest::Approx(4.30265).epsilon(1e-5));
  CHECK(student_t(3, 0.95) == doctest::Approx(3.18245).epsilon(1e-5));
  CHECK(student_t(4, 0.999) == doctest::Approx(8.6103).epsilon(1e-5));
  CHECK(student_t(7, 0.95) == doctest::Approx(2.36462).epsilon(1e-5));
  CHECK(student_t(9, 0.99) == doctest::Approx(3.24984).epsilon(1e-5));
  CHECK(student_t(10, 0.95) == doctest::Approx(2.22814).epsilon(1e-5));
  CHECK(student_t(30, 0.99) == doctest::Approx(2.75).epsilon(1e-5));
  CHECK(student_t(120, 0.95) == doctest::Approx(1.97993).epsilon(1e-5));
}

TEST_CASE("Student's p is the other way round") {
  CHECK(student_p(0, 5) == doctest::Approx(1));
  for (const int freedom : {1, 2, 5, 6, 55, 66})
    for (const double p : {0.5, 0.05, 0.001, 0.0004}) {
      CHECK(student_p(student_t(freedom, 1 - p), freedom) == doctest::Approx(p).epsilon(1e-6));
      CHECK(student_p(-student_t(freedom, 1 - p), freedom) == doctest::Approx(p).epsilon(1e-6));
    }
}

TEST_CASE("what Student's t is at a point agrees with its p and with the formula of its density") {
  for (const int freedom : {1, 2, 3, 4, 5, 16, 37, 59})
    for (const double t : {-9.0, -2.5, -0.3, 0.0, 0.7, 4.0}) {
      const Ordinate at = student_at(t, freedom);
      const double tail = student_p(t, freedom) / 2;
      CHECK(at.below == doctest::Approx(t < 0 ? tail : 1 - tail).epsilon(1e-6));
      const double density =
          std::exp(std::lgamma((freedom + 1) / 2.0) - std::lgamma(freedom / 2.0)) /
          std::sqrt(freedom * std::numbers::pi) *
          std::pow(1 + t * t / freedom, -(freedom + 1) / 2.0);
      CHECK(at.density == doctest::Approx(density).epsilon(1e-9));
    }
}

}  // namespace fa_tune::test
