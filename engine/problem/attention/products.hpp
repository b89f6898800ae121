#pragma once

#include <cstddef>

namespace fa_tune::problem {

// Small products of matrices, most of the oracle's work.

// So many rows go through one call: their sums stay in registers.
constexpr std::size_t kProductRows = 4;
// The width of `right` must be a multiple of this.
constexpr std::size_t kProductWidth = 16;

// out[r][j] += sum over i < inner of left[r][i] * right[i][j], for r < product_rows and j < width.
// The sum over i is made from zero and then added. Strides are in elements; right has `width`.
template <typename Real>
using Product = void (*)(Real* out, std::size_t out_stride, const Real* left,
                         std::size_t left_stride, const Real* right, std::size_t inner,
                         std::size_t width);

struct Products {
  Product<double> in_double;
  Product<float> in_single;
};

// All give the same bits: nothing is contracted.
namespace plain {
extern const Products kProducts;
}
namespace avx2 {
extern const Products kProducts;  // there where FA_TUNE_AVX2 is defined
}

}  // namespace fa_tune::problem
