#include "engine/problem/attention_products.hpp"

// Compiled for any processor and for AVX2, FA_PRODUCTS being the namespace. So it must not include
// what has inline functions: one compiled for AVX2 could be taken by the linker for all.
#ifndef FA_PRODUCTS
#error "FA_PRODUCTS names the variant: plain or avx2"
#endif

namespace fa_tune::FA_PRODUCTS {
namespace {

constexpr std::size_t kLaneBytes = 32;
constexpr std::size_t kVectors = 2;  // of right's columns at a time

template <typename Real>
void add_product(Real* out, std::size_t out_stride, const Real* left, std::size_t left_stride,
                 const Real* right, std::size_t inner, std::size_t width) {
  using Lanes __attribute__((vector_size(kLaneBytes))) = Real;
  constexpr std::size_t lanes = kLaneBytes / sizeof(Real);
  static_assert(product_width % (kVectors * lanes) == 0);
  for (std::size_t j = 0; j < width; j += kVectors * lanes) {
    Lanes sums[product_rows][kVectors] = {};
    for (std::size_t i = 0; i < inner; ++i) {
      Lanes columns[kVectors];
      __builtin_memcpy(columns, right + i * width + j, sizeof columns);
      for (std::size_t r = 0; r < product_rows; ++r) {
        const Real factor = left[r * left_stride + i];
        for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] += factor * columns[v];
      }
    }
    for (std::size_t r = 0; r < product_rows; ++r) {
      Lanes before[kVectors];
      __builtin_memcpy(before, out + r * out_stride + j, sizeof before);
      for (std::size_t v = 0; v < kVectors; ++v) before[v] += sums[r][v];
      __builtin_memcpy(out + r * out_stride + j, before, sizeof before);
    }
  }
}

}  // namespace

extern const Products products;
const Products products = {.in_double = add_product<double>, .in_single = add_product<float>};

}  // namespace fa_tune::FA_PRODUCTS
