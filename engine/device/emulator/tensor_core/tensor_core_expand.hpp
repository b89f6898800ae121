#pragma once

// Included by tensor_core_avx2.cpp alone: registers of a warp to numbers and exponents.

#include <cstdint>

#include <immintrin.h>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

inline constexpr int kZeroExponent = -1000;    // of an operand that is zero: loses against others
inline constexpr int kSpecialExponent = 5000;  // of an infinity or NaN: wins against every other
inline constexpr int kMostK = 32;

// The operands of a warp. Columns are in the order 0 2 4 6 1 3 5 7, in which the registers of a C
// fragment, a word for every fourth lane, need no shuffling. Exponents are those of the rule: a
// subnormal has the smallest normal one.
struct alignas(32) Operands {
  float a[16][kMostK];
  // [row / 2][k]: the exponents of two rows, the even one's in the lower half.
  std::uint32_t a_exponents[8][kMostK];
  float b[kMostK][8];
  std::int16_t b_exponents[kMostK][16];  // every column's twice
};

inline __m128i load128(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
inline __m256i load256(const void* from) {
  return _mm256_load_si256(static_cast<const __m256i*>(from));
}
inline void store256(void* to, __m256i value) {
  _mm256_store_si256(static_cast<__m256i*>(to), value);
}
inline __m256i join(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// fp8 as 16 bits that are read as f16: e5m2 is the upper half of an f16; e4m3 becomes one that is
// 2^8 too small, its subnormals a subnormal.
template <Element element>
__m256i widen(__m128i bytes) {
  if constexpr (element == Element::e5m2) {
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8);
  } else {
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    return _mm256_and_si256(wide, _mm256_set1_epi16(static_cast<short>(0xBF80)));
  }
}

// Exponents of sixteen elements of 16 bits (fp8 as widened).
template <Element element>
__m256i exponents(__m256i bits) {
  constexpr int kFraction = element == Element::bf16 ? 7 : 10;
  constexpr int kTop = element == Element::bf16 ? 255 : 31;
  constexpr int kBias = element == Element::e4m3 ? kTop / 2 - 8 : kTop / 2;
  const __m256i magnitude = _mm256_slli_epi16(bits, 1);
  const __m256i biased = _mm256_srli_epi16(magnitude, kFraction + 1);
  const __m256i zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  const __m256i special =
      element == Element::e4m3
          ? _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(static_cast<short>(0x7F00)))
          : _mm256_cmpeq_epi16(biased, _mm256_set1_epi16(kTop));
  const __m256i normal =
      _mm256_sub_epi16(_mm256_max_epi16(biased, _mm256_set1_epi16(1)), _mm256_set1_epi16(kBias));
  const __m256i finite = _mm256_blendv_epi8(normal, _mm256_set1_epi16(kZeroExponent), zero);
  return _mm256_blendv_epi8(finite, _mm256_set1_epi16(kSpecialExponent), special);
}

// Eight elements of 16 bits as numbers.
template <Element element>
__m256 numbers(__m128i bits) {
  if constexpr (element == Element::bf16) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  } else if constexpr (element == Element::e4m3) {
    return _mm256_mul_ps(_mm256_cvtph_ps(bits), _mm256_set1_ps(256));
  } else {
    return _mm256_cvtph_ps(bits);
  }
}

template <Element element>
void numbers(__m256i bits, float* value) {
  _mm256_store_ps(value, numbers<element>(_mm256_castsi256_si128(bits)));
  _mm256_store_ps(value + 8, numbers<element>(_mm256_extracti128_si256(bits, 1)));
}

// The exponents of tf32 as those of f32, the number without the bits that a tensor core ignores.
inline __m256i expand_tf32(__m256i bits, float* value) {
  const __m256i kept = _mm256_and_si256(bits, _mm256_set1_epi32(~0x1FFF));
  store256(value, kept);
  const __m256i magnitude = _mm256_slli_epi32(kept, 1);
  const __m256i biased = _mm256_srli_epi32(magnitude, 24);
  const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  const __m256i special = _mm256_cmpeq_epi32(biased, _mm256_set1_epi32(255));
  const __m256i normal =
      _mm256_sub_epi32(_mm256_max_epi32(biased, _mm256_set1_epi32(1)), _mm256_set1_epi32(127));
  const __m256i finite = _mm256_blendv_epi8(normal, _mm256_set1_epi32(kZeroExponent), zero);
  return _mm256_blendv_epi8(finite, _mm256_set1_epi32(kSpecialExponent), special);
}

inline __m128i narrow(__m256i words) {
  return _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

// Two rows' exponents, side by side.
inline void store_pair(std::uint32_t* to, __m128i even, __m128i odd) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi16(even, odd));
  _mm_store_si128(reinterpret_cast<__m128i*>(to + 4), _mm_unpackhi_epi16(even, odd));
}
inline void store_twice(std::int16_t* to, __m128i exponents) {
  store256(
      to, join(_mm_unpacklo_epi16(exponents, exponents), _mm_unpackhi_epi16(exponents, exponents)));
}

// An 8 x 8 matrix of 16-bit elements, a row for each column of B in the order above, to rows of k.
inline void transpose(const __m128i r[8], __m128i rows[8]) {
  __m128i pairs[8];
  __m128i quads[8];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
    pairs[4 + i] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    quads[i] = _mm_unpacklo_epi32(pairs[i], pairs[i + 1]);
    quads[i + 1] = _mm_unpackhi_epi32(pairs[i], pairs[i + 1]);
    quads[i + 2] = _mm_unpacklo_epi32(pairs[i + 2], pairs[i + 3]);
    quads[i + 3] = _mm_unpackhi_epi32(pairs[i + 2], pairs[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    const int from = (i / 2) * 4 + (i % 2);
    rows[2 * i] = _mm_unpacklo_epi64(quads[from], quads[from + 2]);
    rows[2 * i + 1] = _mm_unpackhi_epi64(quads[from], quads[from + 2]);
  }
}

inline constexpr int kColumns[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// Sixteen elements of row `row`, from element 16 * part.
template <Element element, int k>
__m256i a_bits(const ConstLanes* a, int row, int part) {
  const int lane = 4 * (row % 8);
  if constexpr (bits_of(element) == 16) {
    const __m128i low = load128(a[row / 8] + lane);
    return join(low, k == 16 ? load128(a[row / 8 + 2] + lane) : _mm_setzero_si128());
  } else {
    return widen<element>(load128(a[row / 8 + 2 * part] + lane));
  }
}

template <Element element, int k>
void expand_a(const ConstLanes* a, Operands& operands) {
  for (int row = 0; row < 16; row += 2) {
    std::uint32_t* exponents_at = operands.a_exponents[row / 2];
    if constexpr (element == Element::tf32) {
      const int lane = 4 * (row % 8);
      __m128i narrowed[2];
      for (int i = 0; i < 2; ++i) {
        const __m128i low = load128(a[row / 8] + lane + 4 * i);
        const __m128i high = k == 8 ? load128(a[row / 8 + 2] + lane + 4 * i) : low;
        narrowed[i] = narrow(expand_tf32(join(low, high), operands.a[row + i]));
      }
      store_pair(exponents_at, narrowed[0], narrowed[1]);
    } else {
      for (int part = 0; part < (k + 15) / 16; ++part) {
        const __m256i even = a_bits<element, k>(a, row, part);
        const __m256i odd = a_bits<element, k>(a, row + 1, part);
        numbers<element>(even, operands.a[row] + 16 * part);
        numbers<element>(odd, operands.a[row + 1] + 16 * part);
        const __m256i e = exponents<element>(even);
        const __m256i o = exponents<element>(odd);
        store_pair(exponents_at + 16 * part, _mm256_castsi256_si128(e), _mm256_castsi256_si128(o));
        store_pair(exponents_at + 16 * part + 8, _mm256_extracti128_si256(e, 1),
                   _mm256_extracti128_si256(o, 1));
      }
    }
  }
}

template <Element element, int k>
void expand_b(const ConstLanes* b, Operands& operands) {
  if constexpr (element == Element::tf32) {
    alignas(32) std::uint32_t row[8];
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < 8; ++j) row[j] = b[i / 4][4 * kColumns[j] + i % 4];
      store_twice(operands.b_exponents[i], narrow(expand_tf32(load256(row), operands.b[i])));
    }
  } else {
    constexpr int kEach = bits_of(element) == 16 ? 8 : 16;  // k of a register
    for (int from = 0; from < k; from += 8) {
      __m128i columns[8];
      __m128i rows[8];
      for (int j = 0; j < 8; ++j) {
        const __m128i bits = load128(b[from / kEach] + 4 * kColumns[j]);
        if constexpr (kEach == 8) {
          columns[j] = bits;
        } else {
          const __m256i wide = widen<element>(bits);
          columns[j] =
              from % 16 == 0 ? _mm256_castsi256_si128(wide) : _mm256_extracti128_si256(wide, 1);
        }
      }
      transpose(columns, rows);
      for (int i = 0; i < 8; i += 2) {
        const __m256i bits = join(rows[i], rows[i + 1]);
        numbers<element>(bits, operands.b[from + i]);
        const __m256i e = exponents<element>(bits);
        store_twice(operands.b_exponents[from + i], _mm256_castsi256_si128(e));
        store_twice(operands.b_exponents[from + i + 1], _mm256_extracti128_si256(e, 1));
      }
    }
  }
}

}  // namespace fa_tune::emulator
