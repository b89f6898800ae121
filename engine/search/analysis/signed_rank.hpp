#pragma once

#include <span>

namespace fa_tune {

// What paired differences say of their center: the Hodges-Lehmann estimate (the median of the means
// of all pairs of differences, each with itself too), its 95% interval from the same means, and the
// two-sided p of 'the center is 0' (Wilcoxon's signed-rank test; Hollander, Wolfe, Chicken,
// "Nonparametric Statistical Methods", chapter 3). Exact up to kExactPairs differences, ties
// included, by counting all ways to flip signs; normal approximation above.
//
// If the two sides of each pair differ by nothing but errors of one distribution, whatever it is,
// their difference is symmetric about 0, so that p errs at the stated rate. The interval covers the
// center of any symmetric distribution at the stated rate or more often.
struct SignedRank {
  double center = 0;
  double low = 0;
  double high = 0;
  double p = 1;
};

// Fewer differences have no 95% interval: all of 5 point one way in 1 of 16 cases without an
// effect.
inline constexpr int kFewestPairs = 6;
inline constexpr int kExactPairs = 50;

// At least kFewestPairs finite differences.
SignedRank signed_rank(std::span<const double> differences);

}  // namespace fa_tune
