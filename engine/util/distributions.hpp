#pragma once

namespace fa_tune {

// Student's distribution with `freedom` degrees of freedom. The two-sided p of t: how often |t| is
// at least this.
double student_p(double t, int freedom);
// The two-sided quantile: |t| is at most this with probability `confidence`.
double student_t(int freedom, double confidence);
// How often it is below t, and its density there.
struct Ordinate {
  double below = 0;
  double density = 0;
};
Ordinate student_at(double t, int freedom);

// The standard normal distribution: how often it is below z, and what it is above so often.
double normal_below(double z);
double normal_quantile(double above);

}  // namespace fa_tune
