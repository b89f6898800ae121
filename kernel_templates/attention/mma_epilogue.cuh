// From the warps' states to the output.
#pragma once

#include "element.cuh"
#include "math.cuh"
#include "mma_state.cuh"
#include "scores.cuh"

// The columns that are a warp's of those that share the keys to join and to store, as fragments.
struct OwnColumns {
  // At most, where they cannot be divided evenly.
  static constexpr int kMost = (kD + WARPS_N - 1) / WARPS_N;
  int first;
  int end;

  __device__ __forceinline__ explicit OwnColumns(int warp_n)
      : first(WARPS_N == 1 ? 0 : kD * warp_n / WARPS_N),
        end(WARPS_N == 1 ? kD : kD * (warp_n + 1) / WARPS_N) {}
  __device__ __forceinline__ bool has(int column) const {
    return kD % WARPS_N == 0 || first + column < end;
  }
};

// What a lane of a warp leaves in `exchange` for the others that share its rows, 32 lanes apart.
__device__ __forceinline__ float4* quads_of(float4* exchange, int warp_m, int warp_n, int lane) {
  constexpr int kQuads = kM * (1 + kD);
  return exchange + (warp_n * WARPS_M + warp_m) * kQuads * 32 + lane;
}

// Warps that share the keys are joined by these two, with a barrier between them: each leaves its
// state in shared memory, and takes from there what all have of its own columns, which become the
// first ones of its output. So one code is all warps'. Each thread meets its own fragments again, so
// no layout is needed.
__device__ __forceinline__ void leave_state(const WarpState& state, float4* exchange, int warp_m,
                                            int warp_n, int lane) {
  float4* const quads = quads_of(exchange, warp_m, warp_n, lane);
#pragma unroll
  for (int i = 0; i < kM; ++i) {
    quads[32 * i] = {state.maximum[i][0], state.sum[i][0], state.maximum[i][1], state.sum[i][1]};
#pragma unroll
    for (int d = 0; d < kD; ++d) {
      const auto& part = state.output[i][d];
      quads[32 * (kM + i * kD + d)] = {part[0], part[1], part[2], part[3]};
    }
  }
}

__device__ __forceinline__ void take_states(WarpState& state, float4* exchange, int warp_m,
                                            int warp_n, int lane, float factor) {
  const OwnColumns own(warp_n);
#pragma unroll
  for (int i = 0; i < kM; ++i) {
    // All that is read first, so that the reads wait for each other only.
    float4 states[WARPS_N];
    float4 parts[WARPS_N][OwnColumns::kMost];
#pragma unroll
    for (int n = 0; n < WARPS_N; ++n) states[n] = quads_of(exchange, warp_m, n, lane)[32 * i];
#pragma unroll
    for (int n = 0; n < WARPS_N; ++n)
#pragma unroll
      for (int c = 0; c < OwnColumns::kMost; ++c)
        if (own.has(c))
          parts[n][c] = quads_of(exchange, warp_m, n, lane)[32 * (kM + i * kD + own.first + c)];
    float weights[WARPS_N][2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto maximum_of = [&](int n) { return h == 0 ? states[n].x : states[n].z; };
      float largest = maximum_of(0);
#pragma unroll
      for (int n = 1; n < WARPS_N; ++n) largest = fmaxf(largest, maximum_of(n));
      const float row_offset = largest == minus_infinity() ? 0.0f : largest * factor;
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < WARPS_N; ++n) {
        weights[n][h] = exp2_approx(maximum_of(n) * factor - row_offset);
        sum += (h == 0 ? states[n].y : states[n].w) * weights[n][h];
      }
      state.maximum[i][h] = largest;
      state.sum[i][h] = sum;
    }
#pragma unroll
    for (int c = 0; c < OwnColumns::kMost; ++c) {
      if (!own.has(c)) continue;
      auto& joined = state.output[i][c];
#pragma unroll
      for (int e = 0; e < 4; ++e) joined[e] = 0.0f;
#pragma unroll
      for (int n = 0; n < WARPS_N; ++n) {
        const float4 part = parts[n][c];
        joined[0] += part.x * weights[n][0];
        joined[1] += part.y * weights[n][0];
        joined[2] += part.z * weights[n][1];
        joined[3] += part.w * weights[n][1];
      }
    }
  }
}

// EPILOGUE staged: the warps that share rows store them together.
using StagedStore = Shared::Store<kWarpRows, 32 * WARPS_N>;

// Divides by the row sums and stores this warp's columns of its rows, `stride` elements apart, and
// their LSE. `first_row` is the warp's. `lane_o` is where this lane's first two columns of its
// first row are; with EPILOGUE staged the rows go to `staging`, and by `store_staged` from there.
__device__ __forceinline__ void store(WarpState& state, const StagedStore& store_staged,
                                      Element* lane_o, int stride, float* row_lses, char* staging,
                                      int first_row, int warp_n, int lq, int lane, float factor) {
  const int lane_row = lane / 4;
  const OwnColumns own(warp_n);
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float sum = state.sum[i][h];
      // No key seen: the row is 0.
      const float inverse = sum > 0.0f ? reciprocal_approx(sum) : 0.0f;
      const int rows = i * 16 + h * 8;
      const int row = first_row + lane_row + rows;
      if (WITH_LSE && warp_n == 0 && lane % 4 == 0 && row < lq)
        row_lses[row] = row_lse(state.maximum[i][h] * factor, sum);
#pragma unroll
      for (int c = 0; c < OwnColumns::kMost; ++c) {
        if (!own.has(c)) continue;
        const int d = own.first + c;
        const unsigned pair =
            pack(state.output[i][c][2 * h] * inverse, state.output[i][c][2 * h + 1] * inverse);
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
    if constexpr (WARPS_N > 1)
      __syncthreads();
    else
      __syncwarp();  // a warp stages and stores only its own rows
    store_staged();
  }
}
