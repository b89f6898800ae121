#pragma once

namespace fa_tune {

// Student's distribution with `freedom` degrees of freedom (Abramowitz and Stegun 26.7.3
// and 26.7.4). The two-sided p of t: how often |t| is at least this.
double student_p(double t, int freedom);
// The two-sided quantile: |t| is at most this with probability `confidence`.
double student_t(int freedom, double confidence);

}  // namespace fa_tune
