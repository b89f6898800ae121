#include "engine/util/distributions.hpp"

#include <cmath>
#include <numbers>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace fa_tune {
namespace {

namespace policies = boost::math::policies;

// What is no number gives none, and throws nothing.
using Quiet = policies::policy<policies::domain_error<policies::ignore_error>,
                               policies::overflow_error<policies::ignore_error>,
                               policies::promote_double<false>>;
using Student = boost::math::students_t_distribution<double, Quiet>;
using Normal = boost::math::normal_distribution<double, Quiet>;

}  // namespace

double student_p(double t, int freedom) {
  return 2 * cdf(complement(Student(freedom), std::abs(t)));
}

double student_t(int freedom, double confidence) {
  return quantile(complement(Student(freedom), (1 - confidence) / 2));
}

// Abramowitz and Stegun 1964, 26.7.3 and 26.7.4. Searches decide by these very bits, a thousand
// times a proposal.
Ordinate student_at(double t, int freedom) {
  const bool odd = freedom % 2 != 0;
  const double squares = freedom + t * t;
  const double sine = t / std::sqrt(squares), cosine_squared = freedom / squares;
  double term = odd ? std::sqrt(cosine_squared) : 1, sum = 0;
  double density = odd ? std::numbers::inv_pi : 0.5;
  for (int k = odd ? 1 : 0; k <= freedom - 2; k += 2) {
    sum += term;
    term *= cosine_squared * (k + 1) / (k + 2);
    if (k > 0) density *= static_cast<double>(k + 1) / k;
  }
  const double beyond =
      odd ? (std::atan2(t, std::sqrt(freedom)) + sine * sum) * std::numbers::inv_pi
          : sine * sum / 2;
  return {0.5 + beyond,
          density / std::sqrt(freedom) * std::pow(cosine_squared, (freedom + 1) / 2.0)};
}

// Searches decide by these very bits.
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double above) { return quantile(complement(Normal(), above)); }

}  // namespace fa_tune
