#include "engine/problem/attention/products.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;

namespace {

// out += left * right, of one shape, by one of the variants.
template <typename Real>
std::vector<Real> multiplied(Product<Real> product, std::size_t inner, std::size_t width) {
  Random random(inner * 1000 + width);
  const auto draw = [&random](std::size_t count) {
    std::vector<Real> values(count);
    for (Real& value : values) value = static_cast<Real>(random.normal());
    return values;
  };
  const std::size_t left_stride = inner + 3, out_stride = width + 5;
  const auto left = draw(kProductRows * left_stride), right = draw(inner * width);
  auto out = draw(kProductRows * out_stride);
  std::vector<long double> exact(out.begin(), out.end());
  for (std::size_t r = 0; r < kProductRows; ++r)
    for (std::size_t j = 0; j < width; ++j)
      for (std::size_t i = 0; i < inner; ++i)
        exact[r * out_stride + j] += static_cast<long double>(left[r * left_stride + i]) *
                                     static_cast<long double>(right[i * width + j]);
  product(out.data(), out_stride, left.data(), left_stride, right.data(), inner, width);
  const double unit = sizeof(Real) == 8 ? 0x1p-52 : 0x1p-23;
  for (std::size_t i = 0; i < out.size(); ++i)
    CHECK(static_cast<double>(std::abs(exact[i] - static_cast<long double>(out[i]))) <
          40 * unit * std::sqrt(static_cast<double>(inner)));
  return out;
}

}  // namespace

TEST_CASE("products: are the formula's, and the same bits on every processor") {
  for (const std::size_t inner : {1U, 7U, 32U, 96U})
    for (const std::size_t width : {16U, 32U, 112U}) {
      const auto in_double = multiplied(plain::kProducts.in_double, inner, width);
      const auto in_single = multiplied(plain::kProducts.in_single, inner, width);
#ifdef FA_TUNE_AVX2
      if (!__builtin_cpu_supports("avx2")) continue;
      CHECK(multiplied(avx2::kProducts.in_double, inner, width) == in_double);
      CHECK(multiplied(avx2::kProducts.in_single, inner, width) == in_single);
#endif
    }
}

}  // namespace fa_tune::test
