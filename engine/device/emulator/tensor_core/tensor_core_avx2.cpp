// Eight outputs, one row of D, a vector.
//
// Why it is exact: a product of two significands has at most 22 bits, so that p = a * b is exact in
// f32 as long as it is normal. With E the largest exponent, p * 2^(F - E) is exact too, is below
// 2^(F + 2), and its conversion to an integer truncates toward zero: that is the rule's alignment.
// Where p or the scaled p would be subnormal it is flushed to zero; as E >= -90 here, it would have
// been truncated to zero anyway. The sum of 8 such terms and c fits a signed 32-bit integer; 16
// terms with F = 25 need one bit more, which the sign and a 32-bit magnitude have. 32 terms come
// with F = 13 alone. The processor rounds toward zero meanwhile, which is how an f32 result wants
// to be rounded.

#include "engine/device/emulator/tensor_core/tensor_core_avx2.hpp"

#include <array>
#include <cstring>

#include "engine/device/emulator/tensor_core/tensor_core_expand.hpp"

namespace fa_tune::emulator {

namespace {

constexpr int kNoProduct = -500;  // below: all products are zero
constexpr int kLowestFast = -90;
constexpr int kHighestFast = 100;

// Rounding toward zero, and subnormal results flushed to zero: exact here (see above), and free of
// the many cycles that a subnormal result costs. What is to be computed so is called out of line:
// the compiler may move arithmetic over a change of the mode.
class TowardZero {
 public:
  TowardZero() : saved_(_mm_getcsr()) { _mm_setcsr(0xFF80); }
  ~TowardZero() { _mm_setcsr(saved_); }
  TowardZero(const TowardZero&) = delete;
  TowardZero& operator=(const TowardZero&) = delete;

 private:
  unsigned saved_;
};

// How the products of one instruction are added.
template <int f, int k_, int at_once_>
struct Plan {
  static constexpr int F = f;
  static constexpr int k = k_;
  static constexpr int kAtOnce = at_once_;
  // Whether a sum may need 32 bits beside its sign.
  static constexpr bool kWide = F == 25 && kAtOnce > 8;
  // f32 results keep as many fraction bits as terms do, if those are fewer.
  static constexpr int kCleared = F < 23 ? (1 << (23 - F)) - 1 : 0;
};

// Sums of eight dot-adds: (-1)^sign * magnitude * 2^(exponent - F).
struct Sums {
  __m256i sign;       // all ones where negative
  __m256i magnitude;  // unsigned
  __m256i exponent;   // within the fast range
  __m256i c_only;     // all ones where the sum is c: all products are zero, or c is infinite
  __m256i slow;       // not zero where an output is out of the range this file is made for
};

// The largest exponent among the products of each column, for two rows.
template <class P>
__m256i largest_exponents(const Operands& operands, int row, int first) {
  __m256i largest = _mm256_set1_epi16(2 * kZeroExponent);
#pragma GCC unroll 32
  for (int k = first; k < first + P::kAtOnce; ++k) {
    const auto pair = static_cast<int>(operands.a_exponents[row / 2][k]);
    const __m256i sum = _mm256_add_epi16(_mm256_set1_epi32(pair), load256(operands.b_exponents[k]));
    largest = _mm256_max_epi16(largest, sum);
  }
  return largest;
}

// `count` products of each column, scaled, truncated and added.
template <int count>
__m256i add_products(const Operands& operands, int row, int first, __m256 scale) {
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 32
  for (int k = first; k < first + count; ++k) {
    const __m256 product =
        _mm256_mul_ps(_mm256_set1_ps(operands.a[row][k]), _mm256_load_ps(operands.b[k]));
    sum = _mm256_add_epi32(sum, _mm256_cvttps_epi32(_mm256_mul_ps(product, scale)));
  }
  return sum;
}

// c: eight f32, exact images of f16 numbers if c_lowest is -14. largest: of the products'
// exponents.
template <class P, int c_lowest>
Sums add_terms(const Operands& operands, int row, int first, __m256i largest, __m256i c) {
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
    const __m256i floor = _mm256_set1_epi32(c_lowest);
    c_ranks = _mm256_blendv_epi8(_mm256_max_epi32(c_exponent, floor), c_exponent, subnormal);
  }

  Sums sums;
  const __m256i infinite = _mm256_cmpeq_epi32(_mm256_and_si256(c, _mm256_set1_epi32(0x7FFFFFFF)),
                                              _mm256_set1_epi32(0x7F800000));
  const __m256i high_products = _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(kHighestFast));
  const __m256i stays_infinite = _mm256_andnot_si256(high_products, infinite);
  sums.c_only =
      _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kNoProduct), largest), stays_infinite);
  largest = _mm256_max_epi32(largest, c_ranks);
  const __m256i high = _mm256_andnot_si256(
      stays_infinite, _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(kHighestFast)));
  const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(kLowestFast), largest);
  sums.slow = _mm256_or_si256(high, _mm256_andnot_si256(sums.c_only, low));
  sums.exponent = _mm256_max_epi32(largest, _mm256_set1_epi32(kLowestFast));

  const __m256 scale = _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(127 + P::F), sums.exponent), 23));
  constexpr int kNarrow = P::kWide ? 8 : P::kAtOnce;
  __m256i low_terms = add_products<kNarrow>(operands, row, first, scale);
  const __m256i c_sign = _mm256_srai_epi32(c, 31);
  const __m256i away = _mm256_sub_epi32(sums.exponent, c_exponent);
  const __m256i c_aligned =
      P::F >= 23
          ? _mm256_srlv_epi32(_mm256_slli_epi32(c_significand, P::F - 23), away)
          : _mm256_srlv_epi32(c_significand, _mm256_add_epi32(away, _mm256_set1_epi32(23 - P::F)));
  low_terms =
      _mm256_add_epi32(low_terms, _mm256_sub_epi32(_mm256_xor_si256(c_aligned, c_sign), c_sign));
  __m256i total = low_terms;
  __m256i negative = low_terms;
  if constexpr (P::kWide) {
    // Where two numbers of one sign gave the other, the sum is beyond 31 bits and its sign is
    // theirs.
    const __m256i high_terms =
        add_products<P::kAtOnce - kNarrow>(operands, row, first + kNarrow, scale);
    total = _mm256_add_epi32(low_terms, high_terms);
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
  return _mm256_or_si256(_mm256_castps_si256(magnitude), _mm256_slli_epi32(sums.sign, 31));
}

// Where the sum is c itself: as far as its bits are kept, and a zero is +0.
template <class P>
__m256i or_c(__m256i result, __m256i c, const Sums& sums) {
  if constexpr (P::kCleared != 0) c = _mm256_andnot_si256(_mm256_set1_epi32(P::kCleared), c);
  const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(c, 1), _mm256_setzero_si256());
  return _mm256_blendv_epi8(result, _mm256_andnot_si256(zero, c), sums.c_only);
}

// Truncated to 24 bits.
template <class P>
__m256i to_f32(const Sums& sums, __m256i c) {
  __m256 number = _mm256_cvtepi32_ps(sums.magnitude);
  if constexpr (P::kWide) {
    // Two halves, as AVX2 converts signed numbers only.
    const __m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(sums.magnitude, 16));
    const __m256 low =
        _mm256_cvtepi32_ps(_mm256_and_si256(sums.magnitude, _mm256_set1_epi32(0xFFFF)));
    number = _mm256_fmadd_ps(high, _mm256_set1_ps(65536.0F), low);
  }
  const __m256 unit = power_of_two(_mm256_sub_epi32(sums.exponent, _mm256_set1_epi32(P::F)));
  __m256i result = with_sign(_mm256_mul_ps(number, unit), sums);
  if constexpr (P::kCleared != 0) {
    result = _mm256_andnot_si256(_mm256_set1_epi32(P::kCleared), result);
  }
  return or_c<P>(result, c, sums);
}

// Rounded to nearest even; eight f16.
template <class P>
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
      _mm256_sub_epi32(_mm256_andnot_si256(wide, _mm256_set1_epi32(8)), _mm256_set1_epi32(P::F));
  const __m256 unit = power_of_two(_mm256_add_epi32(sums.exponent, places));
  const __m256i number = with_sign(_mm256_mul_ps(_mm256_cvtepi32_ps(m), unit), sums);
  // An f16 c has fewer bits than are kept of any sum.
  const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(c, 1), _mm256_setzero_si256());
  const __m256i result = _mm256_blendv_epi8(number, _mm256_andnot_si256(zero, c), sums.c_only);
  const __m128i rounded = _mm256_cvtps_ph(_mm256_castsi256_ps(result), _MM_FROUND_TO_NEAREST_INT);
  return _mm_andnot_si128(_mm_cmpeq_epi16(rounded, _mm_set1_epi16(INT16_MIN)), rounded);
}

// Two exponents in each word: those of row 0 and row 1.
__m256i exponents_of(__m256i pairs, int row) {
  return _mm256_srai_epi32(row == 0 ? _mm256_slli_epi32(pairs, 16) : pairs, 16);
}

// D of a warp before it is written, a row in 32 bytes, and which rows are to be done otherwise.
struct alignas(32) Results {
  std::uint32_t words[16][8];
  std::uint32_t slow = 0;  // bit i: row i
};

template <class P>
[[gnu::noinline]] void rows_f32(const Operands& operands, const Fragments& fragments,
                                Results& results) {
  for (int pair = 0; pair < 16; pair += 2) {
    __m256i sum[2];
    __m256i slow[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    const ConstLanes* c_registers = fragments.c + 2 * (pair / 8);
    for (int i = 0; i < 2; ++i) {
      const int lane = 4 * ((pair + i) % 8);
      sum[i] = join(load128(c_registers[0] + lane), load128(c_registers[1] + lane));
    }
    for (int first = 0; first < P::k; first += P::kAtOnce) {
      const __m256i largest = largest_exponents<P>(operands, pair, first);
      for (int i = 0; i < 2; ++i) {
        const Sums sums =
            add_terms<P, -126>(operands, pair + i, first, exponents_of(largest, i), sum[i]);
        slow[i] = _mm256_or_si256(slow[i], sums.slow);
        sum[i] = to_f32<P>(sums, sum[i]);
      }
    }
    for (int i = 0; i < 2; ++i) {
      store256(results.words[pair + i], sum[i]);
      const bool is_slow = _mm256_testz_si256(slow[i], slow[i]) == 0;
      results.slow |= static_cast<std::uint32_t>(is_slow) << (pair + i);
    }
  }
}

template <class P>
[[gnu::noinline]] void rows_f16(const Operands& operands, const Fragments& fragments,
                                Results& results) {
  for (int pair = 0; pair < 16; pair += 2) {
    __m128i sum[2];
    __m256i slow[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int i = 0; i < 2; ++i) {
      const __m128i words = load128(fragments.c[pair / 8] + 4 * ((pair + i) % 8));
      sum[i] =
          _mm_packus_epi32(_mm_and_si128(words, _mm_set1_epi32(0xFFFF)), _mm_srli_epi32(words, 16));
    }
    for (int first = 0; first < P::k; first += P::kAtOnce) {
      const __m256i largest = largest_exponents<P>(operands, pair, first);
      for (int i = 0; i < 2; ++i) {
        const __m256i c = _mm256_castps_si256(_mm256_cvtph_ps(sum[i]));
        const Sums sums = add_terms<P, -14>(operands, pair + i, first, exponents_of(largest, i), c);
        slow[i] = _mm256_or_si256(slow[i], sums.slow);
        sum[i] = to_f16<P>(sums, c);
      }
    }
    for (int i = 0; i < 2; ++i) {
      // Back to the order of columns, two to a word.
      const __m128i words = _mm_unpacklo_epi16(sum[i], _mm_srli_si128(sum[i], 8));
      _mm_store_si128(reinterpret_cast<__m128i*>(results.words[pair + i]), words);
      const bool is_slow = _mm256_testz_si256(slow[i], slow[i]) == 0;
      results.slow |= static_cast<std::uint32_t>(is_slow) << (pair + i);
    }
  }
}

// The rows that the fast path left, by the reference; into the order of `results`.
void plain_rows(const MmaKind& kind, const Fragments& fragments, Results& results) {
  const bool half = kind.accumulator == Accumulator::f16;
  for (std::uint32_t left = results.slow; left != 0; left &= left - 1) {
    const int row = __builtin_ctz(left);
    std::array<std::uint32_t, 8> plain{};
    mma_reference_row(kind, fragments, row, plain);
    for (int i = 0; i < 8; ++i) {
      if (half) {
        std::uint32_t& word = results.words[row][i / 2];
        word = i % 2 == 0 ? plain[i] : word | plain[i] << 16;
      } else {
        results.words[row][i / 2 + 4 * (i % 2)] = plain[i];
      }
    }
  }
}

template <Element a, Element b, class P>
int run(const MmaKind& kind, int tiles, const Fragments& fragments) {
  constexpr int kRegisters = P::k * bits_of(b) / 128;
  const bool half = kind.accumulator == Accumulator::f16;
  const int each = half ? 2 : 4;
  Operands operands;
  expand_a<a, P::k>(fragments.a, operands);
  int left = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const Fragments at = {fragments.d + each * tile, fragments.a, fragments.b + kRegisters * tile,
                          fragments.c + each * tile};
    expand_b<b, P::k>(at.b, operands);
    Results results;
    {
      const TowardZero mode;
      half ? rows_f16<P>(operands, at, results) : rows_f32<P>(operands, at, results);
    }
    plain_rows(kind, at, results);
    left += __builtin_popcount(results.slow);
    for (int row = 0; row < 16; ++row) {
      const int lane = 4 * (row % 8);
      const Lanes* d = at.d + each / 2 * (row / 8);
      std::memcpy(d[0] + lane, results.words[row], 16);
      if (!half) std::memcpy(d[1] + lane, results.words[row] + 4, 16);
    }
  }
  return left;
}

template <Element element, int whole>
int run_16_bits_up(const MmaKind& kind, int tiles, const Fragments& fragments) {
  constexpr int half = whole / 2;
  if (dot_rule(kind).fraction_bits == 24) {
    if (kind.k == half) return run<element, element, Plan<24, half, half>>(kind, tiles, fragments);
    return run<element, element, Plan<24, whole, half>>(kind, tiles, fragments);
  }
  if (kind.k == half) return run<element, element, Plan<25, half, half>>(kind, tiles, fragments);
  return run<element, element, Plan<25, whole, whole>>(kind, tiles, fragments);
}

template <Element a, Element b>
int run_fp8(const MmaKind& kind, int tiles, const Fragments& fragments) {
  if (kind.k == 16) return run<a, b, Plan<13, 16, 16>>(kind, tiles, fragments);
  if (kind.rule == TensorRule::hopper_wgmma) {
    return run<a, b, Plan<13, 32, 32>>(kind, tiles, fragments);
  }
  return run<a, b, Plan<13, 32, 16>>(kind, tiles, fragments);
}

template <Element a>
int run_fp8(const MmaKind& kind, int tiles, const Fragments& fragments) {
  return kind.b == Element::e4m3 ? run_fp8<a, Element::e4m3>(kind, tiles, fragments)
                                 : run_fp8<a, Element::e5m2>(kind, tiles, fragments);
}

}  // namespace

bool avx2_available() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

int mma_avx2(const MmaKind& kind, int tiles, const Fragments& fragments) {
  switch (kind.a) {
    case Element::f16:
      return run_16_bits_up<Element::f16, 16>(kind, tiles, fragments);
    case Element::bf16:
      return run_16_bits_up<Element::bf16, 16>(kind, tiles, fragments);
    case Element::tf32:
      return run_16_bits_up<Element::tf32, 8>(kind, tiles, fragments);
    case Element::e4m3:
      return run_fp8<Element::e4m3>(kind, tiles, fragments);
    case Element::e5m2:
      return run_fp8<Element::e5m2>(kind, tiles, fragments);
    default:
      return mma_avx2_bytes(kind, tiles, fragments);
  }
}

}  // namespace fa_tune::emulator
