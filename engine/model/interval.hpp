#pragma once

#include <cmath>
#include <limits>
#include <optional>

namespace fa_tune {

// A figure and the ends of an interval for it, all in one unit. An end that nothing is known of is
// infinite, as of the mean of a single sample. A predicted time may lie outside of its interval, where
// the model is known to be off in one direction.
struct Interval {
  double value = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  // In another unit; `factor` is above 0.
  Interval operator*(double factor) const { return {value * factor, low * factor, high * factor}; }
};

// An end as rows, JSON and text have it: nothing where it is not known.
inline std::optional<double> known_end(double end) {
  return std::isfinite(end) ? std::optional(end) : std::nullopt;
}

}  // namespace fa_tune
