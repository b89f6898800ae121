#include "engine/util/normal.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace fa_tune {
namespace {

constexpr std::size_t kQuantiles = 65536;

// Where the standard normal distribution leaves `above` to its right, by Newton's method from
// below.
double quantile(double above, double from) {
  double x = from;
  for (;;) {
    const double density =
        std::exp(-x * x / 2) / (std::numbers::sqrt2 * std::sqrt(std::numbers::pi));
    const double step = (std::erfc(x / std::numbers::sqrt2) / 2 - above) / density;
    x += step;
    if (std::abs(step) < 1e-9) return x;
  }
}

std::vector<float> make_quantiles() {
  std::vector<float> made(kQuantiles);
  double x = 0;
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    x = quantile((static_cast<double>(kQuantiles - i) - 0.5) / kQuantiles, x);
    made[i] = static_cast<float>(x);
    made[kQuantiles - 1 - i] = -made[i];
  }
  return made;
}

}  // namespace

void fill_normal(Random& random, float spread, std::span<float> values) {
  static const std::vector<float> quantiles = make_quantiles();
  for (std::size_t i = 0; i < values.size();) {
    std::uint64_t bits = random.next();
    for (int part = 0; part < 4 && i < values.size(); ++part, bits >>= 16)
      values[i++] = spread * quantiles[bits & 0xffff];
  }
}

}  // namespace fa_tune
