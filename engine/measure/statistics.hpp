#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/interval.hpp"

namespace fa_tune::measure {

double median(std::span<const double> samples);  // NaN if empty

// A 95% percentile bootstrap interval of the median with `resamples` resamples from `seed`: the
// same samples and seed give the same interval. One sample gives an interval of no width.
Interval estimate(std::span<const double> samples, std::uint64_t seed = 1, int resamples = 2000);
// The same for the mean.
Interval estimate_mean(std::span<const double> samples, std::uint64_t seed = 1,
                       int resamples = 2000);

// Student's interval, for few samples that are about normal. One sample gives a boundless interval.
Interval mean_of_few(std::span<const double> samples, double confidence);

}  // namespace fa_tune::measure
