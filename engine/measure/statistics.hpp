#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fa_tune {

// A figure with its spread, in the unit of the samples.
struct Estimate {
  double median = 0;
  double low = 0;  // of a 95% percentile bootstrap interval of the median
  double high = 0;
  int samples = 0;
};

double median(std::span<const double> samples);  // NaN if empty

// A mean with an interval for it.
struct MeanEstimate {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// Percentile bootstrap of the median with `resamples` resamples from `seed`: the same samples and
// seed give the same interval. One sample gives an interval of no width.
Estimate estimate(std::span<const double> samples, std::uint64_t seed = 1, int resamples = 2000);
// The same of the mean.
MeanEstimate estimate_mean(std::span<const double> samples, std::uint64_t seed = 1,
                           int resamples = 2000);

// Of few samples that are about normal: Student's interval. Of one sample it is boundless.
MeanEstimate mean_of_few(std::span<const double> samples, double confidence);

}  // namespace fa_tune
