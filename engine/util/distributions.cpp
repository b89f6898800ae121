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

// Searches decide by these very bits.
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double above) { return quantile(complement(Normal(), above)); }

}  // namespace fa_tune
