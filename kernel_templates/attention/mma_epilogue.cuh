// From the warps' states to the output.
#pragma once

#include "element.cuh"
#include "math.cuh"
#include "mma_state.cuh"
#include "scores.cuh"

template <int kValue>
struct Number {
  static constexpr int value = kValue;
};

// Calls `act` with a warp's number among those that share the keys as a type: what depends on it
// chooses registers, which have no index.
template <int kFirst = 0, typename Act>
__device__ __forceinline__ void with_number(int warp_n, const Act& act) {
  if constexpr (kFirst + 1 < WARPS_N) {
    if (warp_n != kFirst) return with_number<kFirst + 1>(warp_n, act);
  }
  act(Number<kFirst>());
}

// The columns that are a warp's of those that share the keys to join and to store, as fragments.
template <int kWarpN>
struct OwnColumns {
  static constexpr int kFirst = kD * kWarpN / WARPS_N;
  static constexpr int kEnd = kD * (kWarpN + 1) / WARPS_N;
  static constexpr __device__ bool has(int d) { return d >= kFirst && d < kEnd; }
};

// What a lane of a warp leaves in `exchange` for the others that share its rows, 32 lanes apart.
__device__ __forceinline__ float4* quads_of(float4* exchange, int warp_m, int warp_n, int lane) {
  constexpr int kQuads = kM * (1 + kD);
  return exchange + (warp_n * WARPS_M + warp_m) * kQuads * 32 + lane;
}

// Warps that share the keys are joined by these two, with a barrier between them: each leaves its
// state in shared memory, and takes up what the others have of its own columns. Each thread meets
// its own fragments again, so no layout is needed.
__device__ __forceinline__ void leave_state(const WarpState& state, float4* exchange, int warp_m,
                                            int warp_n, int lane) {
  with_number(warp_n, [&](auto number) {
    using Own = OwnColumns<decltype(number)::value>;
    float4* const quads = quads_of(exchange, warp_m, number.value, lane);
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      quads[32 * i] = {state.maximum[i][0], state.sum[i][0], state.maximum[i][1], state.sum[i][1]};
#pragma unroll
      for (int d = 0; d < kD; ++d) {
        const auto& part = state.output[i][d];
        if (!Own::has(d)) quads[32 * (kM + i * kD + d)] = {part[0], part[1], part[2], part[3]};
      }
    }
  });
}

__device__ __forceinline__ void take_states(WarpState& state, float4* exchange, int warp_m,
                                            int warp_n, int lane, float factor) {
  with_number(warp_n, [&](auto number) {
    using Own = OwnColumns<decltype(number)::value>;
    constexpr int kMine = decltype(number)::value;
    // None where there are more warps than fragments.
    constexpr int kColumns = Own::kEnd - Own::kFirst;
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      // All that is read first, so that the reads wait for each other only.
      float4 states[WARPS_N];
      float4 parts[WARPS_N][kColumns > 0 ? kColumns : 1];
#pragma unroll
      for (int n = 0; n < WARPS_N; ++n)
        if (n != kMine) states[n] = quads_of(exchange, warp_m, n, lane)[32 * i];
#pragma unroll
      for (int n = 0; n < WARPS_N; ++n)
#pragma unroll
        for (int d = Own::kFirst; d < Own::kEnd; ++d)
          if (n != kMine)
            parts[n][d - Own::kFirst] = quads_of(exchange, warp_m, n, lane)[32 * (kM + i * kD + d)];
      states[kMine] = {state.maximum[i][0], state.sum[i][0], state.maximum[i][1], state.sum[i][1]};
      float weights[WARPS_N][2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const auto maximum_of = [&](int n) { return h == 0 ? states[n].x : states[n].z; };
        float largest = state.maximum[i][h];
#pragma unroll
        for (int n = 0; n < WARPS_N; ++n) largest = fmaxf(largest, maximum_of(n));
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
      for (int d = Own::kFirst; d < Own::kEnd; ++d) {
        auto& joined = state.output[i][d];
#pragma unroll
        for (int e = 0; e < 4; ++e) joined[e] *= weights[kMine][e / 2];
#pragma unroll
        for (int n = 0; n < WARPS_N; ++n) {
          if (n == kMine) continue;
          const float4 part = parts[n][d - Own::kFirst];
          joined[0] += part.x * weights[n][0];
          joined[1] += part.y * weights[n][0];
          joined[2] += part.z * weights[n][1];
          joined[3] += part.w * weights[n][1];
        }
      }
    }
  });
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
  with_number(warp_n, [&](auto number) {
    using Own = OwnColumns<decltype(number)::value>;
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float sum = state.sum[i][h];
        // No key seen: the row is 0.
        const float inverse = sum > 0.0f ? reciprocal_approx(sum) : 0.0f;
        const int rows = i * 16 + h * 8;
        const int row = first_row + lane_row + rows;
        if (WITH_LSE && number.value == 0 && lane % 4 == 0 && row < lq)
          row_lses[row] = row_lse(state.maximum[i][h] * factor, sum);
#pragma unroll
        for (int d = Own::kFirst; d < Own::kEnd; ++d) {
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
  });
  if constexpr (kEpilogue == Epilogue::staged) {
    if constexpr (WARPS_N > 1)
      __syncthreads();
    else
      __syncwarp();  // a warp stages and stores only its own rows
    store_staged();
  }
}
