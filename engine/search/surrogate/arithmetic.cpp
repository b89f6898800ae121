#include "engine/search/surrogate/arithmetic.hpp"

#include <cstdint>
#include <numbers>

// Compiled for any processor and for AVX2, FA_ARITHMETIC being the namespace. So it must not
// include what has inline functions: one compiled for AVX2 could be taken by the linker for all.
#ifndef FA_ARITHMETIC
#error "FA_ARITHMETIC names the variant: plain or avx2"
#endif

namespace fa_tune::search::FA_ARITHMETIC {
namespace {

#ifdef __AVX2__
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 4;
#endif
using Lanes __attribute__((vector_size(kLanes * sizeof(float)))) = float;
// Wherever a float may lie.
using Memory
    __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias)) =
        float;

// e^x for x <= 0 with a relative error below 2e-6. By hand, because a library's is not vectorized
// and not the same everywhere.
inline float exp_of_negative(float x) {
  const float t = (x < -80.0F ? -80.0F : x) * std::numbers::log2e_v<float>;
  const auto whole = static_cast<std::int32_t>(t);
  const float f = (t - static_cast<float>(whole)) * std::numbers::ln2_v<float>;
  const float series =
      1.0F +
      f * (1.0F + f * (0.5F + f * (0.16666667F +
                                   f * (0.041666667F + f * (0.0083333333F + f * 0.0013888889F)))));
  return series * __builtin_bit_cast(float, (whole + 127) << 23);
}

// Of sites of a tile: their squared distances, and the mean of what each gene does alone.
inline void distances(const CovarianceTerms& terms, const float* sites, float* squares,
                      float* alone) {
  const float share =
      terms.stepped_count == 0 ? 0.0F : 1.0F / static_cast<float>(terms.stepped_count);
  Lanes squares0{}, squares1{}, alone0{}, alone1{};
  if (terms.stepped_count == 0) {
    alone0 += 1.0F;
    alone1 += 1.0F;
  }
  for (std::size_t i = 0; i < terms.weight_count; ++i) {
    const DimensionWeight& weight = terms.weights[i];
    const float* row = sites + weight.dimension * kTile;
    const float at = terms.point[weight.dimension];
    const Lanes apart0 = at - *reinterpret_cast<const Memory*>(row);
    const Lanes apart1 = at - *reinterpret_cast<const Memory*>(row + kLanes);
    Lanes part0 = weight.slope * apart0 * apart0;
    Lanes part1 = weight.slope * apart1 * apart1;
    if (weight.step > 0) {
      const Lanes none{}, step = none + weight.step;
      part0 += apart0 != none ? step : none;
      part1 += apart1 != none ? step : none;
      alone0 += share / (1.0F + part0);
      alone1 += share / (1.0F + part1);
    }
    squares0 += part0;
    squares1 += part1;
  }
  *reinterpret_cast<Memory*>(squares) = squares0;
  *reinterpret_cast<Memory*>(squares + kLanes) = squares1;
  *reinterpret_cast<Memory*>(alone) = alone0;
  *reinterpret_cast<Memory*>(alone + kLanes) = alone1;
}

void covariances(const CovarianceTerms& terms, const float* tiles, std::size_t count, float* out) {
  static_assert(kTile % (2 * kLanes) == 0);
  const std::size_t size = (terms.dimension_count + terms.earlier_count) * kTile;
  for (const float* tile = tiles; tile != tiles + count * size; tile += size, out += kTile) {
    float squares[kTile], alone[kTile];
    for (std::size_t i = 0; i < kTile; i += 2 * kLanes)
      distances(terms, tile + i, squares + i, alone + i);
    for (std::size_t i = 0; i < kTile; ++i) {
      const float r = __builtin_sqrtf(5.0F * squares[i]);
      const float together = (1.0F + r + r * r * (1.0F / 3)) * exp_of_negative(-r);
      out[i] = together + terms.alone * (alone[i] - together);
    }
    const float* said = tile + terms.dimension_count * kTile;
    for (std::size_t j = 0; j < terms.earlier_count; ++j, said += kTile)
      for (std::size_t i = 0; i < kTile; ++i) out[i] += terms.earlier[j] * said[i];
  }
}

// A sum of products has four partial sums, always in the same order. Rows that come in fours share
// what they read of x.
using Four __attribute__((vector_size(4 * sizeof(double)))) = double;
using FourInMemory
    __attribute__((vector_size(4 * sizeof(double)), aligned(alignof(double)), may_alias)) = double;

inline double total(const Four& sums) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

inline const double* row_of(const double* factor, std::size_t i) {
  return factor + i * (i + 1) / 2;
}

inline const FourInMemory& four(const double* from) {
  return *reinterpret_cast<const FourInMemory*>(from);
}

void substitute_row(const double* factor, std::size_t i, double* x) {
  const double* row = row_of(factor, i);
  Four sums{};
  std::size_t j = 0;
  for (; j + 4 <= i; j += 4) sums += four(row + j) * four(x + j);
  for (; j < i; ++j) sums[0] += row[j] * x[j];
  x[i] = (x[i] - total(sums)) / row[i];
}

// Of four rows, the first of which is a multiple of four.
void substitute_four(const double* factor, std::size_t i, double* x) {
  const double* a = row_of(factor, i);
  const double* b = row_of(factor, i + 1);
  const double* c = row_of(factor, i + 2);
  const double* d = row_of(factor, i + 3);
  Four sums_a{}, sums_b{}, sums_c{}, sums_d{};
  for (std::size_t j = 0; j < i; j += 4) {
    const Four by = four(x + j);
    sums_a += four(a + j) * by;
    sums_b += four(b + j) * by;
    sums_c += four(c + j) * by;
    sums_d += four(d + j) * by;
  }
  a += i, b += i, c += i, d += i, x += i;
  x[0] = (x[0] - total(sums_a)) / a[0];
  sums_b[0] += b[0] * x[0];
  x[1] = (x[1] - total(sums_b)) / b[1];
  sums_c[0] += c[0] * x[0];
  sums_c[0] += c[1] * x[1];
  x[2] = (x[2] - total(sums_c)) / c[2];
  sums_d[0] += d[0] * x[0];
  sums_d[0] += d[1] * x[1];
  sums_d[0] += d[2] * x[2];
  x[3] = (x[3] - total(sums_d)) / d[3];
}

void substitute(const double* factor, std::size_t first, std::size_t last, double* x) {
  std::size_t i = first;
  for (; i < last && i % 4 != 0; ++i) substitute_row(factor, i, x);
  for (; i + 4 <= last; i += 4) substitute_four(factor, i, x);
  for (; i < last; ++i) substitute_row(factor, i, x);
}

// Of two rows, the first of which is even, for four systems.
void substitute_two(const double* factor, std::size_t i, double* const* x) {
  static_assert(kTogetherStep == 4);
  const double* a = row_of(factor, i);
  const double* b = row_of(factor, i + 1);
  // Eight names and no array: g++ 12 keeps an array of sums in memory.
  Four a0{}, a1{}, a2{}, a3{}, b0{}, b1{}, b2{}, b3{};
  double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const std::size_t fours = i - i % 4;
  for (std::size_t j = 0; j < fours; j += 4) {
    const Four by_a = four(a + j), by_b = four(b + j);
    a0 += by_a * four(x0 + j);
    a1 += by_a * four(x1 + j);
    a2 += by_a * four(x2 + j);
    a3 += by_a * four(x3 + j);
    b0 += by_b * four(x0 + j);
    b1 += by_b * four(x1 + j);
    b2 += by_b * four(x2 + j);
    b3 += by_b * four(x3 + j);
  }
  const auto finish = [&](double* of, Four& sums_a, Four& sums_b) {
    for (std::size_t j = fours; j < i; ++j) {
      sums_a[0] += a[j] * of[j];
      sums_b[0] += b[j] * of[j];
    }
    of[i] = (of[i] - total(sums_a)) / a[i];
    sums_b[0] += b[i] * of[i];
    of[i + 1] = (of[i + 1] - total(sums_b)) / b[i + 1];
  };
  finish(x0, a0, b0);
  finish(x1, a1, b1);
  finish(x2, a2, b2);
  finish(x3, a3, b3);
}

void substitute_together(const double* factor, std::size_t first, std::size_t last,
                         double* const* x, std::size_t count) {
  const auto row = [&](std::size_t i) {
    for (std::size_t k = 0; k < count; ++k) substitute_row(factor, i, x[k]);
  };
  std::size_t i = first;
  if (i % 2 != 0 && i < last) row(i++);
  for (; i + 2 <= last; i += 2)
    for (std::size_t k = 0; k < count; k += kTogetherStep) substitute_two(factor, i, x + k);
  if (i < last) row(i);
}

}  // namespace

const Arithmetic kArithmetic = {.covariances = covariances,
                                .substitute = substitute,
                                .substitute_together = substitute_together};

}  // namespace fa_tune::search::FA_ARITHMETIC
