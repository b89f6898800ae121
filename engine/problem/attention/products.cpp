#include "engine/problem/attention/products.hpp"

// Compiled for any processor and for AVX2, FA_PRODUCTS being the namespace. So it must not include
// what has inline functions: one compiled for AVX2 could be taken by the linker for all.
#ifndef FA_PRODUCTS
#error "FA_PRODUCTS names the variant: plain or avx2"
#endif

namespace fa_tune::problem::FA_PRODUCTS {
namespace {

#ifdef __AVX2__
constexpr std::size_t kLaneBytes = 32;
#else
constexpr std::size_t kLaneBytes = 16;
#endif

template <typename Real>
void add_product(Real* out, std::size_t out_stride, const Real* left, std::size_t left_stride,
                 const Real* right, std::size_t inner, std::size_t width) {
  using Lanes __attribute__((vector_size(kLaneBytes))) = Real;
  // Wherever a Real may lie.
  using Memory __attribute__((vector_size(kLaneBytes), aligned(alignof(Real)), may_alias)) = Real;
  constexpr std::size_t lanes = kLaneBytes / sizeof(Real);
  static_assert(kProductRows == 4 && kProductWidth % (2 * lanes) == 0);
  for (std::size_t j = 0; j < width; j += 2 * lanes) {
    // Eight names and no array: g++ 12 keeps an array of sums in memory.
    Lanes a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, d0{}, d1{};
    for (std::size_t i = 0; i < inner; ++i) {
      const Real* columns = right + i * width + j;
      const Lanes right0 = *reinterpret_cast<const Memory*>(columns);
      const Lanes right1 = *reinterpret_cast<const Memory*>(columns + lanes);
      const Real* factors = left + i;
      a0 += factors[0] * right0;
      a1 += factors[0] * right1;
      b0 += factors[left_stride] * right0;
      b1 += factors[left_stride] * right1;
      c0 += factors[2 * left_stride] * right0;
      c1 += factors[2 * left_stride] * right1;
      d0 += factors[3 * left_stride] * right0;
      d1 += factors[3 * left_stride] * right1;
    }
    const auto add = [&](std::size_t row, const Lanes& sum0, const Lanes& sum1) {
      Real* to = out + row * out_stride + j;
      *reinterpret_cast<Memory*>(to) += sum0;
      *reinterpret_cast<Memory*>(to + lanes) += sum1;
    };
    add(0, a0, a1);
    add(1, b0, b1);
    add(2, c0, c1);
    add(3, d0, d1);
  }
}

}  // namespace

const Products kProducts = {.in_double = add_product<double>, .in_single = add_product<float>};

}  // namespace fa_tune::problem::FA_PRODUCTS
