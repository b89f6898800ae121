// Parts of the keys become one: those of a block's warps, then those of the SPLITS blocks. A part of a
// row is its output before the division by the sum, the sum, and the maximum that both are relative
// to, as an exponent of two. They are added in the order of their numbers, so the result is the same
// each time.
#pragma once

#include "decode_rows.cuh"
#include "math.cuh"
#include "mma_warp.cuh"
#include "scores.cuh"

// Four columns of a row.
struct JoinedColumns {
  float maximum;
  float sum = 0.0f;
  float4 output = {0.0f, 0.0f, 0.0f, 0.0f};

  // `largest`: of all parts.
  __device__ __forceinline__ explicit JoinedColumns(float largest) : maximum(largest) {}

  __device__ __forceinline__ void add(float2 state, float4 part) {
    // (-inf) - (-inf) would be NaN: where no part has seen a key all of them are 0.
    const float weight = maximum == minus_infinity() ? 0.0f : exp2_approx(state.x - maximum);
    sum += weight * state.y;
    output.x += weight * part.x;
    output.y += weight * part.y;
    output.z += weight * part.z;
    output.w += weight * part.w;
  }

  __device__ __forceinline__ void store(Element* o, float* lses, const Rows& rows, int row,
                                        int column) const {
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;  // no key seen: the row is 0
    *reinterpret_cast<uint2*>(o + rows.start(row) + column) = make_uint2(
        pack(output.x * inverse, output.y * inverse), pack(output.z * inverse, output.w * inverse));
    if (WITH_LSE && column == 0) lses[rows.by_heads(row)] = row_lse(maximum, sum);
  }
};

// Where the warps leave their parts for each other, in the place of the rings. Eight floats more a row
// put the rows that a warp writes at a time into different banks.
constexpr int kPartPitch = HEAD_DIM + 8;
constexpr int kPartStates = WARPS * BLOCK_M * kPartPitch * 4;  // bytes before them

// All threads of the block. `count`: rows of the block that exist.
__device__ __forceinline__ void join_warps(const WarpState& state, char* memory, int warp, int lane,
                                           float factor, const Rows& rows, int first_row, int split,
                                           Element* o, float* lses, float* partials,
                                           float* row_states) {
  float* const outputs = reinterpret_cast<float*>(memory);
  float2* const states = reinterpret_cast<float2*>(memory + kPartStates);
  const int count = min(rows.count() - first_row, BLOCK_M);
  __syncthreads();  // all have read Q and their rings
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = state.sum[i][h];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int row = i * 16 + h * 8 + lane / 4;
      if (row >= count) continue;
      const int place = warp * BLOCK_M + row;
      if (lane % 4 == 0) states[place] = make_float2(state.maximum[i][h] * factor, sum);
#pragma unroll
      for (int d = 0; d < kD; ++d)
        *reinterpret_cast<float2*>(outputs + place * kPartPitch + d * 8 + lane % 4 * 2) =
            make_float2(state.output[i][d][2 * h], state.output[i][d][2 * h + 1]);
    }
  __syncthreads();
  for (int index = threadIdx.x; index < count * (HEAD_DIM / 4); index += kThreads) {
    const int row = index / (HEAD_DIM / 4), column = index % (HEAD_DIM / 4) * 4;
    float largest = minus_infinity();
#pragma unroll
    for (int part = 0; part < WARPS; ++part)
      largest = fmaxf(largest, states[part * BLOCK_M + row].x);
    JoinedColumns joined(largest);
#pragma unroll
    for (int part = 0; part < WARPS; ++part) {
      const int place = part * BLOCK_M + row;
      joined.add(states[place],
                 *reinterpret_cast<const float4*>(outputs + place * kPartPitch + column));
    }
    if constexpr (SPLITS == 1) {
      joined.store(o, lses, rows, first_row + row, column);
    } else {
      const long long part = rows.part(first_row + row, split);
      *reinterpret_cast<float4*>(partials + part * HEAD_DIM + column) = joined.output;
      if (column == 0)
        *reinterpret_cast<float2*>(row_states + part * 2) = make_float2(joined.maximum, joined.sum);
    }
  }
}

// A block of JOIN_THREADS for one row: groups of threads take the splits in turn, and the first
// group adds up what they have.
__device__ __forceinline__ void join_splits(const Rows& rows, int row, Element* o, float* lses,
                                            const float* partials, const float* row_states) {
  constexpr int kColumns = HEAD_DIM / 4;
  constexpr int kGroups = JOIN_THREADS / kColumns;
  __shared__ float4 group_outputs[kGroups][kColumns];
  __shared__ float group_sums[kGroups];
  const float2* const states = reinterpret_cast<const float2*>(row_states) + rows.part(row, 0);
  const float4* const parts = reinterpret_cast<const float4*>(partials) +
                              rows.part(row, 0) * kColumns + threadIdx.x % kColumns;

  // Every warp for itself.
  float largest = minus_infinity();
  for (int split = threadIdx.x % 32; split < SPLITS; split += 32)
    largest = fmaxf(largest, states[split].x);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));

  const int group = threadIdx.x / kColumns, column = threadIdx.x % kColumns;
  JoinedColumns joined(largest);
  if (group < kGroups) {
#pragma unroll 8
    for (int split = group; split < SPLITS; split += kGroups)
      joined.add(states[split], parts[split * kColumns]);
    group_outputs[group][column] = joined.output;
    if (column == 0) group_sums[group] = joined.sum;
  }
  __syncthreads();
  if (group > 0) return;
#pragma unroll
  for (int other = 1; other < kGroups; ++other) {
    const float4 part = group_outputs[other][column];
    joined.sum += group_sums[other];
    joined.output.x += part.x;
    joined.output.y += part.y;
    joined.output.z += part.z;
    joined.output.w += part.w;
  }
  joined.store(o, lses, rows, row, column * 4);
}
