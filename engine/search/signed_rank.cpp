#include "engine/search/signed_rank.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <vector>

namespace fa_tune {
namespace {

constexpr double kTail = 0.025;  // each side of a 95% interval
constexpr double kNormalTail = 1.959963984540054;

double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// Where each rank is added or not with equal chance: the chance of each sum of `ranks`.
std::vector<double> chances_of_sums(const std::vector<int>& ranks) {
  std::vector<double> chance = {1.0};
  for (const int rank : ranks) {
    const std::size_t before = chance.size();
    chance.resize(before + static_cast<std::size_t>(rank), 0.0);
    for (std::size_t sum = chance.size(); sum-- > 0;) {
      const double without = sum < before ? chance[sum] : 0.0;
      const std::size_t step = static_cast<std::size_t>(rank);
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

}  // namespace

SignedRank signed_rank(std::span<const double> differences) {
  const std::size_t n = differences.size();
  assert(n >= kFewestPairs);
  std::vector<double> means;
  means.reserve(n * (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) means.push_back((differences[i] + differences[j]) / 2);
  const auto ordered = [&](std::size_t place) {
    const auto at = means.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(means.begin(), at, means.end());
    return *at;
  };
  const std::size_t outside = means_outside(n);
  SignedRank result;
  result.low = ordered(outside == 0 ? 0 : outside - 1);
  result.high = ordered(means.size() - std::max<std::size_t>(outside, 1));
  result.center = (ordered((means.size() - 1) / 2) + ordered(means.size() / 2)) / 2;
  result.p = two_sided_p(doubled_ranks(differences));
  return result;
}

}  // namespace fa_tune
