#include "engine/search/surrogate/arithmetic.hpp"

#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

namespace {

// Those that this processor can run.
std::vector<Arithmetic> variants() {
  std::vector<Arithmetic> all = {plain::kArithmetic};
#ifdef FA_TUNE_AVX2
  if (__builtin_cpu_supports("avx2")) all.push_back(avx2::kArithmetic);
#endif
  return all;
}

// Sites of few values, so that many coordinates are the same, as those of genes are.
struct Sites {
  std::size_t dimensions, earlier, tiles;
  std::vector<DimensionWeight> weights;
  std::size_t stepped = 0;
  std::vector<float> coordinates, point, said;

  Sites(std::size_t of_dimensions, std::size_t of_earlier, std::size_t of_tiles, bool steps)
      : dimensions(of_dimensions), earlier(of_earlier), tiles(of_tiles) {
    Random random(dimensions * 100 + tiles);
    const auto draw = [&random] { return static_cast<float>(random.below(5)) / 4; };
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (d == 2) continue;  // one that does not count
      const bool has_step = steps && d % 3 != 1;
      weights.push_back({d, 0.3F + draw(), has_step ? 0.2F + draw() : 0.0F});
      stepped += has_step;
      point.resize(d + 1);
    }
    point.resize(dimensions);
    for (float& each : point) each = draw();
    for (std::size_t j = 0; j < earlier; ++j) said.push_back(draw() - 0.5F);
    for (std::size_t i = 0; i < (dimensions + earlier) * tiles * kTile; ++i)
      coordinates.push_back(draw());
  }

  std::vector<float> covariances(const Arithmetic& arithmetic) const {
    std::vector<float> out(tiles * kTile);
    arithmetic.covariances({weights.data(), weights.size(), stepped, 0.3F, point.data(), dimensions,
                            said.data(), earlier},
                           coordinates.data(), tiles, out.data());
    return out;
  }

  // By the definition (KernelWeights).
  double covariance(std::size_t i) const {
    const auto at = [&](std::size_t row) -> double {
      return coordinates[((i / kTile) * (dimensions + earlier) + row) * kTile + i % kTile];
    };
    double squares = 0, alone = 0;
    for (const DimensionWeight& weight : weights) {
      const double apart = point[weight.dimension] - at(weight.dimension);
      const double part = weight.slope * apart * apart + (apart != 0 ? weight.step : 0);
      squares += part;
      if (weight.step > 0) alone += 1 / (1 + part) / static_cast<double>(stepped);
    }
    if (stepped == 0) alone = 1;
    const double r = std::sqrt(5 * squares);
    double sum = 0.7 * (1 + r + r * r / 3) * std::exp(-r) + 0.3 * alone;
    for (std::size_t j = 0; j < earlier; ++j) sum += said[j] * at(dimensions + j);
    return sum;
  }
};

// A lower triangular matrix as a covariance has, and right sides.
struct Equations {
  std::size_t size;
  std::vector<double> factor;
  std::array<std::vector<double>, kTogether> right;

  explicit Equations(std::size_t of) : size(of) {
    Random random(size);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) factor.push_back(0.1 * random.normal());
      factor.push_back(1 + random.uniform());
    }
    for (auto& each : right)
      for (std::size_t i = 0; i < size; ++i) each.push_back(random.normal());
  }

  std::vector<double> solved(const Arithmetic& arithmetic, std::size_t which,
                             std::size_t step) const {
    std::vector<double> x = right[which];
    for (std::size_t i = 0; i < size; i += step)
      arithmetic.substitute(factor.data(), i, std::min(i + step, size), x.data());
    return x;
  }

  std::array<std::vector<double>, kTogether> solved_together(const Arithmetic& arithmetic,
                                                             std::size_t step,
                                                             std::size_t count) const {
    auto all = right;
    std::array<double*, kTogether> x{};
    for (std::size_t k = 0; k < kTogether; ++k) x[k] = all[k].data();
    for (std::size_t i = 0; i < size; i += step)
      arithmetic.substitute_together(factor.data(), i, std::min(i + step, size), x.data(), count);
    return all;
  }

  // L x - b, at most.
  double error(const std::vector<double>& x, std::size_t which) const {
    double most = 0;
    for (std::size_t i = 0; i < size; ++i) {
      double sum = -right[which][i];
      for (std::size_t j = 0; j <= i; ++j) sum += factor[i * (i + 1) / 2 + j] * x[j];
      most = std::max(most, std::abs(sum));
    }
    return most;
  }
};

}  // namespace

TEST_CASE("covariances are the formula's, and the same bits on every processor") {
  for (const bool steps : {false, true})
    for (const std::size_t earlier : {0U, 2U})
      for (const std::size_t dimensions : {1U, 4U, 37U}) {
        const Sites sites(dimensions, earlier, 3, steps);
        const auto plainly = sites.covariances(plain::kArithmetic);
        for (std::size_t i = 0; i < plainly.size(); ++i)
          CHECK(plainly[i] == doctest::Approx(sites.covariance(i)).epsilon(1e-5));
        for (const Arithmetic& variant : variants()) CHECK(sites.covariances(variant) == plainly);
      }
}

TEST_CASE("triangular systems come out the same, in parts, together, and on every processor") {
  for (const std::size_t size : {1U, 2U, 3U, 5U, 32U, 61U}) {
    const Equations equations(size);
    for (std::size_t k = 0; k < kTogether; ++k) {
      const auto whole = equations.solved(plain::kArithmetic, k, size);
      CHECK(equations.error(whole, k) < 1e-12);
      for (const Arithmetic& variant : variants())
        for (const std::size_t step : {1U, 2U, 3U, 7U, 61U}) {
          CHECK(equations.solved(variant, k, step) == whole);
          CHECK(equations.solved_together(variant, step, kTogether)[k] == whole);
          const auto few = equations.solved_together(variant, step, kTogetherStep);
          CHECK(few[k] == (k < kTogetherStep ? whole : equations.right[k]));
        }
    }
  }
}

}  // namespace fa_tune::test
