// From the warps' states to the output.
#pragma once

#include "element.cuh"
#include "math.cuh"
#include "mma_state.cuh"
#include "scores.cuh"

// Joins the warps that shared the keys: those with warp_n > 0 leave their state in shared memory
// (free by now), warp_n == 0 takes it up. Each thread meets its own fragments again, so no layout
// is needed.
__device__ __forceinline__ void combine_warps(WarpState& state, float* exchange, int warp_m,
                                              int warp_n, int lane, float factor) {
  constexpr int kWords = kM * (kD * 4 + 4);
  // Word w of lane l at w * 32 + l: no bank conflicts.
  const auto words_of = [&](int n) {
    return exchange + (n * WARPS_M + warp_m) * kWords * 32 + lane;
  };
  __syncthreads();
  if (warp_n > 0) {
    float* const words = words_of(warp_n - 1);
    int word = 0;
#pragma unroll
    for (int i = 0; i < kM; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        words[32 * word++] = state.maximum[i][h];
        words[32 * word++] = state.sum[i][h];
      }
#pragma unroll
      for (int d = 0; d < kD; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e) words[32 * word++] = state.output[i][d][e];
    }
  }
  __syncthreads();
  if (warp_n > 0) return;
#pragma unroll
  for (int n = 0; n < WARPS_N - 1; ++n) {
    const float* const words = words_of(n);
    int word = 0;
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      float mine[2], theirs[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float their_maximum = words[32 * word++];
        const float their_sum = words[32 * word++];
        const float largest = fmaxf(state.maximum[i][h], their_maximum);
        const float row_offset = largest == minus_infinity() ? 0.0f : largest * factor;
        mine[h] = exp2_approx(state.maximum[i][h] * factor - row_offset);
        theirs[h] = exp2_approx(their_maximum * factor - row_offset);
        state.maximum[i][h] = largest;
        state.sum[i][h] = state.sum[i][h] * mine[h] + their_sum * theirs[h];
      }
#pragma unroll
      for (int d = 0; d < kD; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          state.output[i][d][e] =
              state.output[i][d][e] * mine[e / 2] + words[32 * word++] * theirs[e / 2];
    }
  }
}

// Divides by the row sums and stores this warp's rows, `stride` elements apart, and their LSE.
__device__ __forceinline__ void store(WarpState& state, Element* o, int stride, float* row_lses,
                                      char* staging, int first_row, int warp_row, int lq, int lane,
                                      float factor) {
  first_row += warp_row;
  staging += warp_row * Shared::kPitch;
  const int lane_row = lane / 4;
  Element* const lane_o =
      o + static_cast<long long>(first_row + lane_row) * stride + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = state.sum[i][h];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;  // no key seen: the row is 0
      const int rows = i * 16 + h * 8;
      const int row = first_row + lane_row + rows;
      if (WITH_LSE && lane % 4 == 0 && row < lq)
        row_lses[row] = row_lse(state.maximum[i][h] * factor, sum);
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        const unsigned pair =
            pack(state.output[i][d][2 * h] * inverse, state.output[i][d][2 * h + 1] * inverse);
        if constexpr (kEpilogue == Epilogue::staged) {
          char* const lane_staging = staging + Shared::offset(lane_row, d) + lane % 4 * 4;
          *reinterpret_cast<unsigned*>(lane_staging + rows * Shared::kPitch) = pair;
        } else if (row < lq) {
          *reinterpret_cast<unsigned*>(lane_o + static_cast<long long>(rows) * stride + d * 8) =
              pair;
        }
      }
    }
  if constexpr (kEpilogue == Epilogue::staged) {
    __syncwarp();  // a warp stages and stores only its own rows
    Shared::store<kWarpRows, 32>(o, staging, stride, first_row, lq, lane);
  }
}
