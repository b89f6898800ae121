// The softmax of a warpgroup's scores, which stay in the registers where wgmma leaves them: a
// thread has columns 8 i + t % 4 * 2 + c of two rows h, at [4 i + 2 h + c].
#pragma once

#include "e4m3.cuh"
#include "element.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "rescale.cuh"
#include "scores.cuh"
#include "wgmma_scales.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_tile_scheduler.cuh"

constexpr int kScores = BLOCK_N / 2;                  // a thread
constexpr int kOutputs = HEAD_DIM / 2;                // a thread
constexpr int kSteps = BLOCK_N * kElementBytes / 32;  // steps of P V, 32 bytes deep
constexpr int kFragments = 2 / kElementBytes;  // of 8 columns, whose scores make one register of P

// In e4m3 a probability is taken 2^kGain times, in the row's sum as well, so that the largest is
// 2^8 of 448, and small ones stay above 2^-6, below which precision is lost. Room for kGrowth, and
// for a sum that grows, comes from there.
constexpr bool kOffsetsLag = kRescale == Rescale::threshold || kRescale == Rescale::by_sum;
constexpr float kGain = !DTYPE_E4M3 ? 0.0f : kOffsetsLag ? 6.0f : 8.0f;

struct Rows {
  // What is subtracted from scores, -inf before the first key: as an exponent of two where scores
  // have scales of their own (e4m3), else unscaled.
  float offset[2];
  float sum[2];  // this thread's columns only, until the end
};

// 2^x for x <= kGrowth on the multiply-add units, which have time where the special function unit
// has none. Rounds x to a whole number with the usual large constant, then a polynomial over
// [-1/2, 1/2] with relative error at most 7.5e-5 (minimax), a sixth of fp16's half ulp.
__device__ __forceinline__ float exp2_polynomial(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  x = fmaxf(x, -126.0f);
  const float shifted = x + kRound;
  const float rest = x - (shifted - kRound);
  float p = fmaf(0.05517167f, rest, 0.24261112f);
  p = fmaf(p, rest, 0.69326099f);
  p = fmaf(p, rest, 0.99992807f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

// Scores of keys that a row must not see become -inf; `first_key` is the tile's, `first_row` this
// thread's.
__device__ __forceinline__ void apply_mask(float (&scores)[kScores], const Mask& mask,
                                           int first_row, int first_key, int lane) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int position = position_of(first_row + 8 * h);
    const int end = mask.end_key(position) - first_key - lane % 4 * 2;
    const int first = mask.first_key(position) - first_key - lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (8 * i + c >= end || (WINDOW_LEFT && 8 * i + c < first))
          scores[4 * i + 2 * h + c] = minus_infinity();
  }
}

// SOFTCAP and ALIBI; `slopes` are those of this thread's two rows, and `units` (e4m3) what their
// products are multiplied by.
__device__ __forceinline__ void apply_score_mod(float (&scores)[kScores], Scores how,
                                                const float (&slopes)[2], const Factors& units,
                                                int first_row, int first_key, int lane) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    how.slope = slopes[h];
    const int position = position_of(first_row + 8 * h);
#pragma unroll
    for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& score = scores[4 * i + 2 * h + c];
        if constexpr (DTYPE_E4M3) score *= units.of(h);
        score = how.modified(score, position, first_key + 8 * i + lane % 4 * 2 + c);
      }
  }
}

// The power of two that probabilities are multiplied by.
__device__ __forceinline__ float gain(const Factors& factors) {
#if DTYPE_E4M3
  return kGain - factors.smaller;
#else
  return 0.0f;
#endif
}

// Makes an exponent of two of a row's offset.
__device__ __forceinline__ float offset_factor(const Factors& factors, int h) {
  return DTYPE_E4M3 ? 1.0f : factors.of(h);
}

// The largest of all that the four lanes of a quad have, which hold one row.
template <typename Number>
__device__ __forceinline__ Number quad_max(Number largest) {
  largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  return max(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
}

// The maxima of two rows in the steps from kFirst up to kEnd, where they are above the rows'
// offsets; else something that is not. As integers the bits of floats compare as these do where one
// is positive, and the maximum of three integers takes one instruction, where floats take two that
// are as slow. Where a row's scores and its offset are all negative, floats are compared.
template <int kFirst, int kEnd>
__device__ __forceinline__ void find_row_max(const float (&scores)[kScores], const Rows& rows,
                                             float (&largest)[2]) {
  constexpr int kBegin = 2 * kFragments * kFirst;
  int bits[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    // Two chains, so that one does not wait for itself.
    int chains[2] = {__float_as_int(scores[4 * kBegin + 2 * h]),
                     __float_as_int(scores[4 * kBegin + 2 * h + 1])};
#pragma unroll
    for (int i = kBegin + 1; i < 2 * kFragments * kEnd; ++i)
      chains[i % 2] = max(max(chains[i % 2], __float_as_int(scores[4 * i + 2 * h])),
                          __float_as_int(scores[4 * i + 2 * h + 1]));
    bits[h] = quad_max(max(chains[0], chains[1]));
    largest[h] = __int_as_float(bits[h]);
  }
  const int negative =
      (bits[0] & __float_as_int(rows.offset[0])) | (bits[1] & __float_as_int(rows.offset[1]));
  if (!__any_sync(0xffffffffu, negative < 0)) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float chains[2] = {scores[4 * kBegin + 2 * h], scores[4 * kBegin + 2 * h + 1]};
#pragma unroll
    for (int i = kBegin + 1; i < 2 * kFragments * kEnd; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) chains[c] = fmaxf(chains[c], scores[4 * i + 2 * h + c]);
    largest[h] = quad_max(fmaxf(chains[0], chains[1]));
  }
}

// Raises the row offsets to the maxima of these scores, of the steps from kFirst up to kEnd (see
// RESCALE); sums so far have to be multiplied by `shrink`. kMayBeEmpty: a row may have seen no key
// yet.
template <bool kMayBeEmpty, int kFirst = 0, int kEnd = kSteps>
__device__ __forceinline__ void update_row_max(const float (&scores)[kScores], Rows& rows,
                                               float (&shrink)[2], float (&subtract)[2],
                                               const Factors& factors) {
  float largest[2];
  find_row_max<kFirst, kEnd>(scores, rows, largest);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float factor = offset_factor(factors, h);
    if constexpr (DTYPE_E4M3) largest[h] *= factors.of(h);
    const float before = rows.offset[h];
    float now = fmaxf(before, largest[h]);
    if (kRescale == Rescale::threshold && (now - before) * factor <= kGrowth) now = before;
    rows.offset[h] = now;
    // (-inf) - (-inf) would be NaN. Neither product may become part of an FMA, or `shrink` is not 1
    // where the offset stays: an FMA does not round its product.
    subtract[h] = kMayBeEmpty && now == minus_infinity() ? 0.0f : __fmul_rn(now, factor);
    shrink[h] = exp2_approx(__fmul_rn(before, factor) - subtract[h]);
    rows.sum[h] *= shrink[h];
    subtract[h] -= gain(factors);
  }
}

__device__ __forceinline__ void rescale(float (&output)[kOutputs], const float (&shrink)[2]) {
  if (kRescale != Rescale::always &&
      !__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f))
    return;
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) output[i] *= shrink[i / 2 % 2];
}

// The probability of a score in fragment `fragment`. Of eight fragments EXP_POLYNOMIAL go the way
// of exp2_polynomial.
__device__ __forceinline__ float probability(float score, int fragment, float subtract,
                                             float factor) {
  const float x = fmaf(score, factor, -subtract);
  return fragment * EXP_POLYNOMIAL % 8 < EXP_POLYNOMIAL ? exp2_polynomial(x) : exp2_approx(x);
}

__device__ __forceinline__ void add_sums(Rows& rows, const float (&sum)[2][2],
                                         const Factors& factors) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float all = sum[h][0] + sum[h][1];
#if V_POWERS_OF_TWO
    rows.sum[h] = fmaf(all, factors.whole, rows.sum[h]);
#else
    rows.sum[h] += all;
#endif
  }
}

// Scores to probabilities in the steps from kFirst up to kEnd, and their sums to the rows.
template <int kFirst, int kEnd>
__device__ __forceinline__ void exponentiate(float (&scores)[kScores], Rows& rows,
                                             const float (&subtract)[2], const Factors& factors) {
  float sum[2][2];
#pragma unroll
  for (int i = 2 * kFragments * kFirst; i < 2 * kFragments * kEnd; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int h = e / 2;
      const float p = probability(scores[4 * i + e], i, subtract[h], factors.of(h));
      scores[4 * i + e] = p;
      sum[h][e % 2] = i == 2 * kFragments * kFirst ? p : sum[h][e % 2] + p;
    }
  add_sums(rows, sum, factors);
}

// One register of an A operand: a row's probabilities in kFragments fragments. In e4m3 its four
// columns are 2t, 2t + 1 of one fragment and of the next, where the operand has 4t to 4t + 3: V's
// keys lie in the same order.
__device__ __forceinline__ unsigned pack_fragments(const float (&p)[2 * kFragments]) {
#if DTYPE_E4M3
  return pack_e4m3(p[0], p[1], p[2], p[3]);
#else
  return pack(p[0], p[1]);
#endif
}

// The same, and the A operands as they come: the conversions fill the gaps between the
// exponentials.
template <int kFirst, int kEnd>
__device__ __forceinline__ void exponentiate_and_pack(unsigned (&p)[kSteps][4],
                                                      const float (&scores)[kScores], Rows& rows,
                                                      const float (&subtract)[2],
                                                      const Factors& factors) {
  float sum[2][2];
#pragma unroll
  for (int i = 2 * kFirst; i < 2 * kEnd; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float values[2 * kFragments];
#pragma unroll
      for (int f = 0; f < kFragments; ++f) {
        const int fragment = kFragments * i + f;
        const float* const pair = scores + 4 * fragment + 2 * h;
        const float low = probability(pair[0], fragment, subtract[h], factors.of(h));
        const float high = probability(pair[1], fragment, subtract[h], factors.of(h));
        const bool first = i == 2 * kFirst && f == 0;
        sum[h][0] = first ? low : sum[h][0] + low;
        sum[h][1] = first ? high : sum[h][1] + high;
        values[2 * f] = low;
        values[2 * f + 1] = high;
      }
      p[i / 2][i % 2 * 2 + h] = pack_fragments(values);
    }
  add_sums(rows, sum, factors);
}

// RESCALE by_sum: whether a probability of this thread may have left the room for growth. A row
// that had seen no key has the sum inf, or NaN where it still sees none.
__device__ __forceinline__ bool outgrown(const float (&tile_sum)[2]) {
  return !(tile_sum[0] + tile_sum[1] <= kLargestSum);
}

// by_sum in e4m3: a new offset brings the sums of a row's threads in a tile down to this, so that
// the next ones have room.
constexpr float kFreshSum = 64.0f;

// by_sum in e4m3: the probabilities of a tile, in the place of its scores, with offsets that leave
// room for more: of each row, the largest of its threads' sums is at most kFreshSum. Offsets grow
// by whole numbers, so that a row's only large probability stays a power of two, which is not
// rounded. `shrink` and `subtract` are update_row_max()'s.
__device__ __forceinline__ void exponentiate_with_room(float (&scores)[kScores], Rows& rows,
                                                       float (&shrink)[2],
                                                       const float (&subtract)[2],
                                                       const Factors& factors) {
  Rows tile = {{0.0f, 0.0f}, {0.0f, 0.0f}};
  exponentiate<0, kSteps>(scores, tile, subtract, factors);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float over = fmaxf(quad_max(tile.sum[h]) * (1.0f / kFreshSum), 1.0f);
    const int up = (__float_as_int(over) - __float_as_int(1.0f) + 0x7fffff) >> 23;
    const float down = __int_as_float((127 - up) << 23);
    rows.offset[h] += static_cast<float>(up);
    rows.sum[h] = (rows.sum[h] + tile.sum[h]) * down;
    shrink[h] *= down;
#pragma unroll
    for (int i = 0; i < kScores / 4; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) scores[4 * i + 2 * h + c] *= down;
  }
}

// The steps from kFirst up to kEnd as A operands.
template <int kFirst, int kEnd>
__device__ __forceinline__ void pack_steps(unsigned (&p)[kSteps][4],
                                           const float (&scores)[kScores]) {
#pragma unroll
  for (int i = 2 * kFirst; i < 2 * kEnd; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float values[2 * kFragments];
#pragma unroll
      for (int f = 0; f < kFragments; ++f)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          values[2 * f + c] = scores[4 * (kFragments * i + f) + 2 * h + c];
      p[i / 2][i % 2 * 2 + h] = pack_fragments(values);
    }
}
