// From a warp's products to its probabilities, in the registers where mma leaves them.
#pragma once

#include "mask.cuh"
#include "math.cuh"
#include "mma_state.cuh"
#include "scores.cuh"

// Caps and biases. `first_row` and `first_key` belong to this thread's fragments.
__device__ __forceinline__ void shape(float (&scores)[kM][kN][4], const Scores& how, int first_row,
                                      int first_key) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 0; j < kN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        scores[i][j][e] = how.shaped(scores[i][j][e], first_row + i * 16 + e / 2 * 8,
                                     first_key + j * 8 + e % 2);
}

// Hides the keys a row must not see.
__device__ __forceinline__ void hide(float (&scores)[kM][kN][4], const Mask& mask, int first_row,
                                     int first_key) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 0; j < kN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        mask.hide(scores[i][j][e], first_row + i * 16 + e / 2 * 8, first_key + j * 8 + e % 2);
}

// Moves the state to the rows' maxima over these scores too. `references`: what `probabilities` subtracts. Before the first tile the state
// is zero.
__device__ __forceinline__ void refer(const float (&scores)[kM][kN][4], State& state, float (&references)[kM][2],
                                      float factor, bool first) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float before = state.maximum[i][h];
      float largest = before;
#pragma unroll
      for (int j = 0; j < kN; ++j)
        largest = fmaxf(largest, fmaxf(scores[i][j][2 * h], scores[i][j][2 * h + 1]));
      // The four lanes of a quad hold one row.
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      // While a row has seen no key, 0 stands in for its maximum: (-inf) - (-inf) would be NaN.
      const float reference = largest == minus_infinity() ? 0.0f : largest * factor;
      state.maximum[i][h] = largest;
      references[i][h] = reference;

      if (!first && (kRescale == Rescale::always || __any_sync(0xffffffffu, largest != before))) {
        const float shrink = exp2_approx(before * factor - reference);
        state.sum[i][h] *= shrink;
#pragma unroll
        for (int d = 0; d < kD; ++d) {
          state.output[i][d][2 * h] *= shrink;
          state.output[i][d][2 * h + 1] *= shrink;
        }
      }
    }
}

// Turns the scores of 16 keys, those of step `step` of P V, into probabilities.
__device__ __forceinline__ void probabilities(float (&scores)[kM][kN][4], State& state, int step,
                                              const float (&references)[kM][2], float factor) {
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int j = 2 * step; j < 2 * step + 2; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        scores[i][j][e] = exp2_approx(scores[i][j][e] * factor - references[i][e / 2]);
        state.sum[i][e / 2] += scores[i][j][e];
      }
}
