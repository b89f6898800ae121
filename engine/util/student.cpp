#include "engine/util/student.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fa_tune {

double student_p(double t, int freedom) {
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle);
  // The terms of both series differ in where they begin alone.
  double term = freedom % 2 == 1 ? cosine : 1;
  double sum = 0;
  for (int k = freedom % 2 == 1 ? 1 : 0; k <= freedom - 2; k += 2) {
    sum += term;
    term *= cosine * cosine * (k + 1.0) / (k + 2.0);
  }
  const double between = freedom % 2 == 1 ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum)
                                          : std::sin(angle) * sum;
  return std::clamp(1 - between, 0.0, 1.0);
}

double student_t(int freedom, double confidence) {
  const double p = 1 - confidence;
  double low = 0;
  double high = 1;
  while (student_p(high, freedom) > p) high *= 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (student_p(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace fa_tune
