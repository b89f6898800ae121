// s8 and u8: pairs of products by vpmaddwd, eight columns a vector. A sum of 32 products is far
// from wrapping around; only adding c may.

#include <cstring>

#include <immintrin.h>

#include "engine/device/emulator/tensor_core/tensor_core_avx2.hpp"

namespace fa_tune::emulator {

namespace {

constexpr int kColumns[8] = {0, 2, 4, 6, 1, 3, 5, 7};  // the order in which C's registers lie

// The four bytes of a register as two words of 16-bit pairs.
struct Pairs {
  std::uint32_t low;
  std::uint32_t high;
};

Pairs widen(Element element, std::uint32_t bytes) {
  const __m128i packed = _mm_cvtsi32_si128(static_cast<int>(bytes));
  const __m128i wide =
      element == Element::s8 ? _mm_cvtepi8_epi16(packed) : _mm_cvtepu8_epi16(packed);
  const auto bits = static_cast<std::uint64_t>(_mm_cvtsi128_si64(wide));
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}

// Sixteen bytes as eight pairs.
void widen(Element element, const std::uint32_t* from, std::uint32_t* to) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m256i wide =
      element == Element::s8 ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), wide);
}

__m256i clamped(__m256i c, __m256i products, __m256i sum) {
  const __m256i over = _mm256_andnot_si256(_mm256_xor_si256(c, products), _mm256_xor_si256(c, sum));
  const __m256i limit = _mm256_xor_si256(_mm256_srai_epi32(c, 31), _mm256_set1_epi32(INT32_MAX));
  return _mm256_blendv_epi8(sum, limit, _mm256_srai_epi32(over, 31));
}

}  // namespace

int mma_avx2_bytes(const MmaKind& kind, int tiles, const Fragments& fragments) {
  const int registers = kind.k / 16;
  const int pairs = kind.k / 2;
  alignas(32) std::uint32_t a[16][16];
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < registers; ++i) {
      widen(kind.a, fragments.a[row / 8 + 2 * i] + 4 * (row % 8), a[row] + 8 * i);
    }
  }
  for (int tile = 0; tile < tiles; ++tile) {
    const Lanes* d = fragments.d + 4 * tile;
    const ConstLanes* c = fragments.c + 4 * tile;
    alignas(32) std::uint32_t b[16][8];
    for (int i = 0; i < registers; ++i) {
      for (int lane = 0; lane < 32; ++lane) {
        const Pairs wide =
            widen(kind.b, fragments.b[registers * tile + i][4 * kColumns[lane / 4] + lane % 4]);
        b[8 * i + 2 * (lane % 4)][lane / 4] = wide.low;
        b[8 * i + 2 * (lane % 4) + 1][lane / 4] = wide.high;
      }
    }
    alignas(32) std::uint32_t results[16][8];
    for (int row = 0; row < 16; ++row) {
      __m256i products = _mm256_setzero_si256();
      for (int i = 0; i < pairs; ++i) {
        const __m256i column = _mm256_load_si256(reinterpret_cast<const __m256i*>(b[i]));
        products = _mm256_add_epi32(
            products, _mm256_madd_epi16(_mm256_set1_epi32(static_cast<int>(a[row][i])), column));
      }
      const int lane = 4 * (row % 8);
      const auto load = [&](ConstLanes from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + lane));
      };
      const __m256i sums = _mm256_inserti128_si256(_mm256_castsi128_si256(load(c[2 * (row / 8)])),
                                                   load(c[2 * (row / 8) + 1]), 1);
      __m256i result = _mm256_add_epi32(sums, products);
      if (kind.saturate) result = clamped(sums, products, result);
      _mm256_store_si256(reinterpret_cast<__m256i*>(results[row]), result);
    }
    for (int row = 0; row < 16; ++row) {
      std::memcpy(d[2 * (row / 8)] + 4 * (row % 8), results[row], 16);
      std::memcpy(d[2 * (row / 8) + 1] + 4 * (row % 8), results[row] + 4, 16);
    }
  }
  return 0;
}

}  // namespace fa_tune::emulator
