#include "engine/search/analysis/hypothesis_tests.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/util/distributions.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {
namespace {

double log_choose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

}  // namespace

Share share(int part, int of) {
  Share result{of, part, 0, 1};
  if (of == 0) return result;
  const double n = of;
  const double rate = part / n;
  const double square = kNormalTail * kNormalTail;
  const double middle = (rate + square / (2 * n)) / (1 + square / n);
  const double half =
      kNormalTail / (1 + square / n) * std::sqrt(rate * (1 - rate) / n + square / (4 * n * n));
  result.low = part == 0 ? 0 : std::max(0.0, middle - half);
  result.high = part == of ? 1 : std::min(1.0, middle + half);
  return result;
}

double fisher_p(const Share& one, const Share& other) {
  const int parts = one.part + other.part;
  const int all = one.of + other.of;
  const auto log_chance = [&](int part) {
    return log_choose(one.of, part) + log_choose(other.of, parts - part) - log_choose(all, parts);
  };
  // Equally likely tables differ in their last bits.
  const double seen = log_chance(one.part) + 1e-9;
  double p = 0;
  for (int part = std::max(0, parts - other.of); part <= std::min(one.of, parts); ++part)
    if (log_chance(part) <= seen) p += std::exp(log_chance(part));
  return std::min(1.0, p);
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto questions_left = static_cast<double>(p.size() - place);
    largest = std::max(largest, std::min(1.0, p[order[place]] * questions_left));
    adjusted[order[place]] = largest;
  }
  return adjusted;
}

std::pair<double, double> ratio_interval(std::span<const GainAndCost> items) {
  constexpr std::size_t kResamples = 1000;
  Random random(1);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < kResamples; ++i) {
    GainAndCost sum;
    for (std::size_t draw = 0; draw < items.size(); ++draw) {
      const GainAndCost& item = items[random.below(items.size())];
      sum.gain += item.gain;
      sum.cost += item.cost;
    }
    ratios.push_back(sum.cost > 0 ? sum.gain / sum.cost : 0);
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kResamples / 40], ratios[kResamples - 1 - kResamples / 40]};
}

namespace {

constexpr double kTail = 0.025;  // each side of a 95% interval

// Where each rank is added or not with equal chance: the chance of each sum of `ranks`.
std::vector<double> chances_of_sums(const std::vector<int>& ranks) {
  std::vector<double> chance = {1.0};
  for (const int rank : ranks) {
    const std::size_t before = chance.size();
    chance.resize(before + static_cast<std::size_t>(rank), 0.0);
    for (std::size_t sum = chance.size(); sum-- > 0;) {
      const double without = sum < before ? chance[sum] : 0.0;
      const auto step = static_cast<std::size_t>(rank);
      const double with = sum >= step ? chance[sum - step] : 0.0;
      chance[sum] = 0.5 * (without + with);
    }
  }
  return chance;
}

// Twice the rank by size, so that a shared middle rank is whole; differences of 0 are left out,
// they say nothing of a direction. Negative where the difference is.
std::vector<int> doubled_ranks(std::span<const double> differences) {
  std::vector<double> sorted;
  for (const double difference : differences)
    if (difference != 0) sorted.push_back(difference);
  const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  std::sort(sorted.begin(), sorted.end(), smaller);
  std::vector<int> ranks(sorted.size());
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last + 1 < sorted.size() && !smaller(sorted[first], sorted[last + 1])) ++last;
    const int doubled = static_cast<int>(first + 1 + last + 1);
    for (std::size_t i = first; i <= last; ++i) ranks[i] = sorted[i] < 0 ? -doubled : doubled;
    first = last + 1;
  }
  return ranks;
}

double two_sided_p(const std::vector<int>& signed_ranks) {
  double up = 0;
  double total = 0;
  double squares = 0;
  std::vector<int> ranks;
  for (const int rank : signed_ranks) {
    ranks.push_back(std::abs(rank));
    up += std::max(rank, 0);
    total += ranks.back();
    squares += static_cast<double>(rank) * rank;
  }
  const double least = std::min(up, total - up);
  if (signed_ranks.size() <= kExactPairs) {
    const auto chance = chances_of_sums(ranks);
    double tail = 0;
    for (std::size_t sum = 0; sum <= static_cast<std::size_t>(least); ++sum) tail += chance[sum];
    return std::min(1.0, 2 * tail);
  }
  // Sums move in steps of 2 (ranks are doubled): half a step is 1.
  const double z = (least + 1 - total / 2) / std::sqrt(squares / 4);
  return std::min(1.0, 2 * normal_below(z));
}

// How many of the ordered means lie outside the interval on each side.
std::size_t means_outside(std::size_t n) {
  if (n <= kExactPairs) {
    std::vector<int> ranks(n);
    for (std::size_t i = 0; i < n; ++i) ranks[i] = static_cast<int>(i + 1);
    const auto chance = chances_of_sums(ranks);
    double tail = 0;
    std::size_t sum = 0;
    while (tail + chance[sum] <= kTail) tail += chance[sum++];
    return sum;
  }
  const auto count = static_cast<double>(n);
  const double middle = count * (count + 1) / 4;
  const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
  return static_cast<std::size_t>(middle - kNormalTail * deviation);
}

// The means of all pairs of differences, each with itself too, without making them: of n^2 / 2 only
// a few places in their order are wanted.
class WalshMeans {
 public:
  explicit WalshMeans(std::span<const double> differences)
      : sorted_(differences.begin(), differences.end()) {
    std::sort(sorted_.begin(), sorted_.end());
  }

  std::size_t count() const { return sorted_.size() * (sorted_.size() + 1) / 2; }

  // The mean at that place, from 0. Halves the range it lies in until no number lies between, then
  // takes the first mean above the lower end, which is exact.
  double ordered(std::size_t place) const {
    double below = std::nextafter(sorted_.front(), -INFINITY);
    double above = sorted_.back();
    while (true) {
      const double middle = below + (above - below) / 2;
      if (middle <= below || middle >= above) break;
      (look(middle).at_most > place ? above : below) = middle;
    }
    return look(below).next;
  }

 private:
  struct Look {
    std::size_t at_most = 0;  // means that are not above the limit
    double next = INFINITY;   // the least one above it
  };

  // As i goes up, the partners j >= i whose mean with it is not above the limit become fewer.
  Look look(double limit) const {
    Look result;
    std::size_t end = sorted_.size();
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      const auto mean = [&](std::size_t j) { return (sorted_[i] + sorted_[j]) / 2; };
      while (end > i && mean(end - 1) > limit) --end;
      const std::size_t first_above = std::max(end, i);
      if (first_above < sorted_.size()) result.next = std::min(result.next, mean(first_above));
      if (end <= i) break;
      result.at_most += end - i;
    }
    return result;
  }

  std::vector<double> sorted_;
};

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
  const std::size_t n = differences.size();
  assert(n >= kFewestPairs);
  const WalshMeans means(differences);
  const std::size_t outside = std::max<std::size_t>(means_outside(n), 1);
  SignedRank result;
  result.low = means.ordered(outside - 1);
  result.high = means.ordered(means.count() - outside);
  result.center = (means.ordered((means.count() - 1) / 2) + means.ordered(means.count() / 2)) / 2;
  result.p = two_sided_p(doubled_ranks(differences));
  return result;
}

}  // namespace fa_tune::search
