#include "engine/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/util/distributions.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::measure {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTail = 0.025;  // each side of a 95% interval

bool any_nan(std::span<const double> samples) {
  return std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); });
}

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Linear between order statistics: 0 is the least, 1 the greatest.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

// The median of one resample of an already sorted sample. Only how often each position is drawn
// matters, so the draws are counted and the counts walked to the middle: no sorting.
double resampled_median(const std::vector<double>& sorted, Random& random,
                        std::vector<std::uint32_t>& counts) {
  const std::size_t n = sorted.size();
  std::fill(counts.begin(), counts.end(), 0U);
  for (std::size_t i = 0; i < n; ++i) ++counts[random.below(n)];
  const std::size_t lower_rank = (n - 1) / 2;
  const std::size_t upper_rank = n / 2;
  std::size_t position = 0;
  std::size_t seen = counts[0];
  while (seen <= lower_rank) seen += counts[++position];
  const double lower = sorted[position];
  while (seen <= upper_rank) seen += counts[++position];
  return (lower + sorted[position]) / 2;
}

}  // namespace

double median(std::span<const double> samples) {
  if (samples.empty() || any_nan(samples)) return kNan;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return middle(sorted);
}

Interval estimate(std::span<const double> samples, std::uint64_t seed, int resamples) {
  Interval result{kNan, kNan, kNan};
  if (samples.empty() || any_nan(samples)) return result;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  result.value = result.low = result.high = middle(sorted);
  if (sorted.size() == 1 || resamples < 1) return result;

  Random random(seed);
  std::vector<std::uint32_t> counts(sorted.size());
  std::vector<double> medians(static_cast<std::size_t>(resamples));
  for (double& value : medians) value = resampled_median(sorted, random, counts);
  std::sort(medians.begin(), medians.end());
  result.low = quantile(medians, kTail);
  result.high = quantile(medians, 1 - kTail);
  return result;
}

Interval estimate_mean(std::span<const double> samples, std::uint64_t seed, int resamples) {
  if (samples.empty() || any_nan(samples)) return {kNan, kNan, kNan};
  const std::size_t n = samples.size();
  const auto mean_of = [n](double sum) { return sum / static_cast<double>(n); };
  Interval result;
  result.value = result.low = result.high =
      mean_of(std::accumulate(samples.begin(), samples.end(), 0.0));
  if (n == 1 || resamples < 1) return result;

  Random random(seed);
  std::vector<double> means(static_cast<std::size_t>(resamples));
  for (double& value : means) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += samples[random.below(n)];
    value = mean_of(sum);
  }
  std::sort(means.begin(), means.end());
  result.low = quantile(means, kTail);
  result.high = quantile(means, 1 - kTail);
  return result;
}

Interval mean_of_few(std::span<const double> samples, double confidence) {
  if (samples.empty() || any_nan(samples)) return {kNan, kNan, kNan};
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (samples.size() == 1) return {mean, -infinity, infinity};
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const double half = student_t(static_cast<int>(samples.size()) - 1, confidence) *
                      std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

}  // namespace fa_tune::measure
