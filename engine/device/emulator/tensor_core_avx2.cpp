// Eight outputs, one row of D, a vector. Columns are kept in the order 0 2 4 6 1 3 5 7, in which
// the registers of a C fragment, a word for every fourth lane, need no shuffling.
//
// Why it is exact: a product of two significands has at most 22 bits, so that p = a * b is exact in
// f32 as long as it is normal. With E the largest exponent, p * 2^(F - E) is exact too, is below
// 2^(F + 2), and its conversion to an integer truncates toward zero: that is the rule's alignment.
// Where p or the scaled p would be subnormal it is flushed to zero; as E >= -90 here, it would have
// been truncated to zero anyway. The sum of 8 such terms and c fits a signed 32-bit integer; 16
// terms with F = 25 need one bit more, which the sign and a 32-bit magnitude have.

#include "engine/device/emulator/tensor_core_avx2.hpp"

#include <array>
#include <cstring>

#include <immintrin.h>

namespace fa_tune::emulator {

namespace {

constexpr int kZeroExponent = -1000;    // of an operand that is zero: loses against every other
constexpr int kSpecialExponent = 5000;  // of an infinity or NaN: wins against every other
constexpr int kNoProduct = -500;        // below: all products are zero
constexpr int kLowestFast = -90;
constexpr int kHighestFast = 100;

// The operands of a warp as numbers and exponents.
struct alignas(32) Operands {
  float a[16][16];  // [row][k]
  int a_exponent[16][16];
  float b[16][8];  // [k][column, in the order above]
  int b_exponent[16][8];
};

// MXCSR bit 15 flushes subnormal results to zero: exact here (see above), and free of the many
// cycles that a subnormal result costs.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(0x9F80); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned saved_;
};

__m128i load128(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
__m256i load256(const void* from) { return _mm256_load_si256(static_cast<const __m256i*>(from)); }

__m256i join(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

// Eight 16-bit elements to numbers and exponents by the rule's reading: a subnormal has the
// smallest normal exponent.
template <Element element>
void expand(__m128i bits, float* value, int* exponent) {
  constexpr int kFraction = element == Element::f16 ? 10 : 7;
  constexpr int kTop = element == Element::f16 ? 31 : 255;
  constexpr int kBias = kTop / 2;
  const __m256i wide = _mm256_cvtepu16_epi32(bits);
  if constexpr (element == Element::f16) {
    _mm256_store_ps(value, _mm256_cvtph_ps(bits));
  } else {
    _mm256_store_ps(value, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
  }
  const __m256i biased =
      _mm256_and_si256(_mm256_srli_epi32(wide, kFraction), _mm256_set1_epi32(kTop));
  const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(wide, 17), _mm256_setzero_si256());
  const __m256i special = _mm256_cmpeq_epi32(biased, _mm256_set1_epi32(kTop));
  __m256i result =
      _mm256_sub_epi32(_mm256_max_epi32(biased, _mm256_set1_epi32(1)), _mm256_set1_epi32(kBias));
  result = _mm256_blendv_epi8(result, _mm256_set1_epi32(kZeroExponent), zero);
  result = _mm256_blendv_epi8(result, _mm256_set1_epi32(kSpecialExponent), special);
  _mm256_store_si256(reinterpret_cast<__m256i*>(exponent), result);
}

// One register of a B fragment is an 8 x 8 matrix of 16-bit elements, a row for each column of B:
// turns it into rows of k.
void transpose(ConstLanes b, __m128i rows[8]) {
  const std::array<int, 8> order = {0, 2, 4, 6, 1, 3, 5, 7};
  __m128i r[8];
  __m128i pairs[8];
  __m128i quads[8];
  for (int i = 0; i < 8; ++i) r[i] = load128(b + 4 * order[i]);
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

template <Element element, int k>
void expand_operands(const Fragments& fragments, Operands& operands) {
  for (int half = 0; half < k / 8; ++half) {
    for (int row = 0; row < 16; ++row) {
      const __m128i bits = load128(fragments.a[row / 8 + 2 * half] + 4 * (row % 8));
      expand<element>(bits, operands.a[row] + 8 * half, operands.a_exponent[row] + 8 * half);
    }
    __m128i rows[8];
    transpose(fragments.b[half], rows);
    for (int i = 0; i < 8; ++i) {
      expand<element>(rows[i], operands.b[8 * half + i], operands.b_exponent[8 * half + i]);
    }
  }
}

// Sums of eight dot-adds: (-1)^sign * magnitude * 2^(exponent - F).
struct Sums {
  __m256i sign;       // all ones where negative
  __m256i magnitude;  // unsigned
  __m256i exponent;   // within the fast range
  __m256i c_only;     // all ones where every product is zero
  bool fast;          // all eight are within the range this file is made for
};

// The largest exponent among `count` products of each column, from k = first on.
template <int count>
__m256i largest_exponent(const Operands& operands, int row, int first) {
  __m256i largest = _mm256_set1_epi32(2 * kZeroExponent);
#pragma GCC unroll 16
  for (int k = first; k < first + count; ++k) {
    const __m256i a = _mm256_set1_epi32(operands.a_exponent[row][k]);
    largest = _mm256_max_epi32(largest, _mm256_add_epi32(a, load256(operands.b_exponent[k])));
  }
  return largest;
}

// Eight products of each column, scaled, truncated and added.
__m256i add_products(const Operands& operands, int row, int first, __m256 scale) {
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int k = first; k < first + 8; ++k) {
    const __m256 product =
        _mm256_mul_ps(_mm256_set1_ps(operands.a[row][k]), _mm256_load_ps(operands.b[k]));
    sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(_mm256_mul_ps(product, scale)));
  }
  return sum;
}

// c: eight f32, exact images of f16 numbers if c_lowest is -14. first: the first k.
template <int F, int count, int c_lowest>
Sums add_terms(const Operands& operands, int row, int first, __m256i c) {
  __m256i largest = largest_exponent<count>(operands, row, first);

  const __m256i biased = _mm256_and_si256(_mm256_srli_epi32(c, 23), _mm256_set1_epi32(255));
  const __m256i subnormal = _mm256_cmpeq_epi32(biased, _mm256_setzero_si256());
  const __m256i c_exponent =
      _mm256_sub_epi32(_mm256_max_epi32(biased, _mm256_set1_epi32(1)), _mm256_set1_epi32(127));
  const __m256i c_significand =
      _mm256_or_si256(_mm256_and_si256(c, _mm256_set1_epi32(0x7FFFFF)),
                      _mm256_andnot_si256(subnormal, _mm256_set1_epi32(0x800000)));
  __m256i c_ranks = c_exponent;
  if constexpr (c_lowest > -126) {
    // A subnormal f16 is a normal f32, a zero is not: only the former ranks as 2^-14.
    c_ranks =
        _mm256_max_epi32(c_exponent, _mm256_andnot_si256(subnormal, _mm256_set1_epi32(c_lowest)));
    c_ranks = _mm256_blendv_epi8(c_ranks, c_exponent, subnormal);
  }

  Sums sums;
  sums.c_only = _mm256_cmpgt_epi32(_mm256_set1_epi32(kNoProduct), largest);
  largest = _mm256_max_epi32(largest, c_ranks);
  const __m256i high = _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(kHighestFast));
  const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(kLowestFast), largest);
  const __m256i out = _mm256_or_si256(high, _mm256_andnot_si256(sums.c_only, low));
  sums.fast = _mm256_testz_si256(out, out) != 0;
  sums.exponent = _mm256_max_epi32(largest, _mm256_set1_epi32(kLowestFast));

  const __m256 scale = _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(127 + F), sums.exponent), 23));
  __m256i low_terms = add_products(operands, row, first, scale);
  __m256i high_terms = _mm256_setzero_si256();
  if constexpr (count > 8) high_terms = add_products(operands, row, first + 8, scale);
  const __m256i c_sign = _mm256_srai_epi32(c, 31);
  const __m256i c_aligned = _mm256_srlv_epi32(_mm256_slli_epi32(c_significand, F - 23),
                                              _mm256_sub_epi32(sums.exponent, c_exponent));
  low_terms =
      _mm256_add_epi32(low_terms, _mm256_sub_epi32(_mm256_xor_si256(c_aligned, c_sign), c_sign));

  const __m256i total = _mm256_add_epi32(low_terms, high_terms);
  __m256i negative = total;
  if constexpr (count > 8) {
    // Where two numbers of one sign gave the other, the sum is beyond 31 bits and its sign is
    // theirs.
    const __m256i wrapped =
        _mm256_and_si256(_mm256_xor_si256(total, low_terms), _mm256_xor_si256(total, high_terms));
    negative = _mm256_xor_si256(total, wrapped);
  }
  sums.sign = _mm256_srai_epi32(negative, 31);
  sums.magnitude = _mm256_sub_epi32(_mm256_xor_si256(total, sums.sign), sums.sign);
  return sums;
}

__m256 power_of_two(__m256i exponent) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
}

__m256i with_sign(__m256 magnitude, const Sums& sums) {
  return _mm256_or_si256(_mm256_castps_si256(magnitude),
                         _mm256_and_si256(sums.sign, _mm256_set1_epi32(INT32_MIN)));
}

// Where all products are zero the sum is c itself, but for -0, which becomes +0.
__m256i or_c(__m256i result, __m256i c, const Sums& sums) {
  const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(c, 1), _mm256_setzero_si256());
  return _mm256_blendv_epi8(result, _mm256_andnot_si256(zero, c), sums.c_only);
}

// Truncated to 24 bits.
template <int F>
__m256i to_f32(const Sums& sums, __m256i c) {
  // Clearing what m >> 24 has set clears the bit just below the 24 that are kept, and so makes the
  // conversion, which rounds to nearest, round down. Two halves, as AVX2 converts signed numbers
  // only.
  const __m256i m = _mm256_andnot_si256(_mm256_srli_epi32(sums.magnitude, 24), sums.magnitude);
  const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(m, 16));
  const __m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(m, _mm256_set1_epi32(0xFFFF)));
  const __m256 number = _mm256_fmadd_ps(high, _mm256_set1_ps(65536.0F), low);
  const __m256 unit = power_of_two(_mm256_sub_epi32(sums.exponent, _mm256_set1_epi32(F)));
  return or_c(with_sign(_mm256_mul_ps(number, unit), sums), c, sums);
}

// Rounded to nearest even; eight f16.
template <int F>
__m128i to_f16(const Sums& sums, __m256i c) {
  // Numbers of more than 24 bits lose 8 with a sticky bit: 17 bits or more stay, enough to round
  // the f32 number to the 11 bits of an f16 as the exact one would be.
  const __m256i wide = _mm256_cmpeq_epi32(_mm256_srli_epi32(sums.magnitude, 24),
                                          _mm256_setzero_si256());  // all ones: not wide
  const __m256i lost = _mm256_and_si256(sums.magnitude, _mm256_set1_epi32(0xFF));
  const __m256i exact = _mm256_cmpeq_epi32(lost, _mm256_setzero_si256());
  const __m256i shortened = _mm256_or_si256(_mm256_srli_epi32(sums.magnitude, 8),
                                            _mm256_andnot_si256(exact, _mm256_set1_epi32(1)));
  const __m256i m = _mm256_blendv_epi8(shortened, sums.magnitude, wide);
  const __m256i places =
      _mm256_sub_epi32(_mm256_andnot_si256(wide, _mm256_set1_epi32(8)), _mm256_set1_epi32(F));
  const __m256 unit = power_of_two(_mm256_add_epi32(sums.exponent, places));
  const __m256i number = with_sign(_mm256_mul_ps(_mm256_cvtepi32_ps(m), unit), sums);
  const __m128i rounded =
      _mm256_cvtps_ph(_mm256_castsi256_ps(or_c(number, c, sums)), _MM_FROUND_TO_NEAREST_INT);
  return _mm_andnot_si128(_mm_cmpeq_epi16(rounded, _mm_set1_epi16(INT16_MIN)), rounded);
}

template <Element element, int F, int k, int step>
int run_f32(const MmaKind& kind, const Fragments& fragments) {
  Operands operands;
  expand_operands<element, k>(fragments, operands);
  alignas(32) std::uint32_t results[16][8];
  int left = 0;
  {
    const FlushSubnormals flush;
    for (int row = 0; row < 16; ++row) {
      const ConstLanes* c_registers = fragments.c + 2 * (row / 8);
      const int lane = 4 * (row % 8);
      __m256i sum = join(load128(c_registers[0] + lane), load128(c_registers[1] + lane));
      bool fast = true;
      for (int first = 0; first < k; first += step) {
        const Sums sums = add_terms<F, step, -126>(operands, row, first, sum);
        fast &= sums.fast;
        sum = to_f32<F>(sums, sum);
      }
      _mm256_store_si256(reinterpret_cast<__m256i*>(results[row]), sum);
      if (fast) continue;
      std::array<std::uint32_t, 8> plain{};
      mma_reference_row(kind, fragments, row, plain);
      for (int i = 0; i < 8; ++i) results[row][i / 2 + 4 * (i % 2)] = plain[i];
      ++left;
    }
  }
  for (int row = 0; row < 16; ++row) {
    const Lanes* d = fragments.d + 2 * (row / 8);
    std::memcpy(d[0] + 4 * (row % 8), results[row], 16);
    std::memcpy(d[1] + 4 * (row % 8), results[row] + 4, 16);
  }
  return left;
}

template <Element element, int F, int k, int step>
int run_f16(const MmaKind& kind, const Fragments& fragments) {
  Operands operands;
  expand_operands<element, k>(fragments, operands);
  alignas(16) std::uint16_t results[16][8];
  int left = 0;
  {
    const FlushSubnormals flush;
    for (int row = 0; row < 16; ++row) {
      const __m128i words = load128(fragments.c[row / 8] + 4 * (row % 8));
      __m128i sum =
          _mm_packus_epi32(_mm_and_si128(words, _mm_set1_epi32(0xFFFF)), _mm_srli_epi32(words, 16));
      bool fast = true;
      for (int first = 0; first < k; first += step) {
        const __m256i c = _mm256_castps_si256(_mm256_cvtph_ps(sum));
        const Sums sums = add_terms<F, step, -14>(operands, row, first, c);
        fast &= sums.fast;
        sum = to_f16<F>(sums, c);
      }
      // Back to the order of columns, two to a word.
      sum = _mm_unpacklo_epi16(sum, _mm_srli_si128(sum, 8));
      _mm_store_si128(reinterpret_cast<__m128i*>(results[row]), sum);
      if (fast) continue;
      std::array<std::uint32_t, 8> plain{};
      mma_reference_row(kind, fragments, row, plain);
      for (int i = 0; i < 8; ++i) results[row][i] = static_cast<std::uint16_t>(plain[i]);
      ++left;
    }
  }
  for (int row = 0; row < 16; ++row) {
    std::memcpy(fragments.d[row / 8] + 4 * (row % 8), results[row], 16);
  }
  return left;
}

template <Element element, int F, int k, int step>
int run(const MmaKind& kind, const Fragments& fragments) {
  if (kind.accumulator == Accumulator::f16) return run_f16<element, F, k, step>(kind, fragments);
  return run_f32<element, F, k, step>(kind, fragments);
}

template <Element element>
int run(const MmaKind& kind, const Fragments& fragments) {
  if (dot_rule(kind).fraction_bits == 24) {
    if (kind.k == 8) return run<element, 24, 8, 8>(kind, fragments);
    return run<element, 24, 16, 8>(kind, fragments);
  }
  if (kind.k == 8) return run<element, 25, 8, 8>(kind, fragments);
  return run<element, 25, 16, 16>(kind, fragments);
}

}  // namespace

bool avx2_available() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

int mma_avx2(const MmaKind& kind, const Fragments& fragments) {
  if (kind.a == Element::f16) return run<Element::f16>(kind, fragments);
  if (kind.a == Element::bf16) return run<Element::bf16>(kind, fragments);
  mma_reference(kind, fragments);
  return 16;
}

}  // namespace fa_tune::emulator
