#include "engine/search/analysis/hypothesis_tests.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/util/random.hpp"

namespace fa_tune {
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

}  // namespace fa_tune
