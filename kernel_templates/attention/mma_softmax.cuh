// From a warp's products to its probabilities, in the registers where mma leaves them.
#pragma once

#include "mask.cuh"
#include "math.cuh"
#include "mma_warp.cuh"
#include "scores.cuh"

__device__ __forceinline__ int query_of(int row) { return row / kRowsPerQuery; }

// SOFTCAP and ALIBI. `first_row` and `first_key` belong to this thread's fragments; `how_of(i, h)` says
// what becomes of the scores of row h of fragment i.
template <typename HowOf>
__device__ __forceinline__ void apply_score_mod(float (&scores)[kM][kN][4], const HowOf& how_of,
                                                int first_row, int first_key) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 0; j < kN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[i][j][e] =
            how_of(i, e / 2).modified(scores[i][j][e], query_of(first_row + i * 16 + e / 2 * 8),
                                      first_key + key_of_fragment(j) + e % 2);
}

// Scores in fragments [from, to) of keys that a row must not see become -inf. `first_row` and
// `first_key` belong to this thread's fragments.
template <int kFragments>
__device__ __forceinline__ void apply_mask(float (&scores)[kM][kFragments][4], int from, int to,
                                           const Mask& mask, int first_row, int first_key) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int query = query_of(first_row + i * 16 + h * 8);
      const int end = mask.end_key(query) - first_key;
      const int first = mask.first_key(query) - first_key;
#pragma unroll
      for (int j = from; j < to; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int key = key_of_fragment(j) + c;
          if (key >= end || (WINDOW_LEFT && key < first))
            scores[i][j][2 * h + c] = minus_infinity();
        }
    }
}

__device__ __forceinline__ void copy(float (&to)[kM][2], const float (&from)[kM][2]) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) to[i][h] = from[i][h];
}

// Folds this thread's scores in fragments [first, end) into its row maxima.
template <int kFragments>
__device__ __forceinline__ void extend_row_max(float (&largest)[kM][2],
                                               const float (&scores)[kM][kFragments][4], int first,
                                               int end) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int j = first; j < end; ++j)
        largest[i][h] = fmaxf(largest[i][h], fmaxf(scores[i][j][2 * h], scores[i][j][2 * h + 1]));
}

// The four lanes of a quad hold one row.
__device__ __forceinline__ void max_over_quads(float (&largest)[kM][2]) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2)
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        largest[i][h] = fmaxf(largest[i][h], __shfl_xor_sync(0xffffffffu, largest[i][h], distance));
}

// Sums of whole rows from those of a quad's lanes. Of all rows at a time: one after the other they
// would wait for each other's shuffles.
__device__ __forceinline__ void sum_over_quads(float (&sum)[kM][2]) {
#pragma unroll
  for (int distance = 1; distance < 4; distance *= 2)
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) sum[i][h] += __shfl_xor_sync(0xffffffffu, sum[i][h], distance);
}

// What `probabilities` subtracts. While a row has seen no key, 0 stands in for its maximum:
// (-inf) - (-inf) would be NaN.
__device__ __forceinline__ void scale_row_offsets(float (&row_offsets)[kM][2],
                                                  const float (&maximum)[kM][2], float factor) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      row_offsets[i][h] = maximum[i][h] == minus_infinity() ? 0.0f : maximum[i][h] * factor;
}

// True if any score in this warp exceeds its row's offset by more than 2^kGrowth. Per lane: no quad
// reduction unless one does.
__device__ __forceinline__ bool outgrown(const float (&largest)[kM][2], const WarpState& state,
                                         float factor) {
  bool grown = false;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) grown |= (largest[i][h] - state.maximum[i][h]) * factor > kGrowth;
  return __any_sync(0xffffffffu, grown);
}

// Raises the running row maxima by `largest`, this thread's, and rescales the state, or leaves
// both: see RESCALE. `row_offsets`: what `probabilities` subtracts. Before the first tile the state
// is zero. Goes step by step for all rows, so that their latencies overlap.
__device__ __forceinline__ void update_row_max(float (&largest)[kM][2], WarpState& state,
                                               float (&row_offsets)[kM][2], float factor,
                                               bool first) {
  if (kRescale == Rescale::threshold && !first && !outgrown(largest, state, factor)) {
    scale_row_offsets(row_offsets, state.maximum, factor);
    return;
  }
  max_over_quads(largest);
  bool moved = false;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) moved |= largest[i][h] != state.maximum[i][h];
  scale_row_offsets(row_offsets, largest, factor);
  if (!first && (kRescale != Rescale::voted || __any_sync(0xffffffffu, moved))) {
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float shrink = exp2_approx(state.maximum[i][h] * factor - row_offsets[i][h]);
        state.sum[i][h] *= shrink;
#pragma unroll
        for (int d = 0; d < kD; ++d) {
          state.output[i][d][2 * h] *= shrink;
          state.output[i][d][2 * h + 1] *= shrink;
        }
      }
  }
  copy(state.maximum, largest);
}

// RESCALE by_sum: whether a probability of this thread may have left the room for growth.
__device__ __forceinline__ bool outgrown(const WarpState& state) {
  bool grown = false;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) grown |= !(state.sum[i][h] <= kLargestSum);
  return grown;
}

// Turns the scores of the steps of P V from `first` up to `end`, 16 keys each, into probabilities.
// The four that a lane has of a row are added up first: sums that wait for each other are fewer so.
__device__ __forceinline__ void probabilities(float (&scores)[kM][kN][4], WarpState& state,
                                              int first, int end, const float (&row_offsets)[kM][2],
                                              float factor) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int step = first; step < end; ++step) {
      auto& p = scores[i];
      const int j = 2 * step;
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        float& score = p[j + e / 4][e % 4];
        score = exp2_approx(score * factor - row_offsets[i][e / 2 % 2]);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h)
        state.sum[i][h] +=
            (p[j][2 * h] + p[j][2 * h + 1]) + (p[j + 1][2 * h] + p[j + 1][2 * h + 1]);
    }
}
