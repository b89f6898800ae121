#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace fa_tune::search {

// Small sums of statistics that insights are tested by.

inline constexpr double kNormalTail = 1.959963984540054;  // of a 95% interval

struct Share {
  int of = 0;
  int part = 0;
  double low = 0;  // Wilson's 95% interval of the underlying rate (Wilson 1927)
  double high = 1;

  double rate() const { return of == 0 ? 0 : static_cast<double>(part) / of; }
};

Share share(int part, int of);

// Two-sided p of 'both groups have the same rate' (Fisher's exact test): the chance, with all four
// margins as they are, of a table that is no more likely than this one.
double fisher_p(const Share& one, const Share& other);

// p values of questions asked together, made larger (Holm 1979) so that 'below 0.05' is wrong about
// even one of them in at most 5% of cases, however they hang together. In the order given.
std::vector<double> holm(std::span<const double> p);
inline constexpr double kLevel = 0.05;

// Replaces the p of each finding by Holm's, and sets whether it is `seen`.
template <typename Finding>
void adjust(std::vector<Finding>& findings) {
  std::vector<double> p;
  for (const Finding& finding : findings) p.push_back(finding.p);
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    findings[i].p = adjusted[i];
    findings[i].seen = adjusted[i] < kLevel;
  }
}

struct GainAndCost {
  double gain = 0;
  double cost = 0;
};

// 95% percentile bootstrap interval of the sum of gains over the sum of costs; the same items give
// the same interval. Narrow where gains are few: a lucky item that was not drawn is not known of.
std::pair<double, double> ratio_interval(std::span<const GainAndCost> items);

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

}  // namespace fa_tune::search
