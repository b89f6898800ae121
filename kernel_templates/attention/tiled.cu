// Attention without tensor cores, as it is written before one knows better: every step of it that
// the plain path to fast kernels takes, each a gene.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D]
//
// and what features.cuh, heads.cuh, mask.cuh and scores.cuh add to it.
//
// A block owns BLOCK_M query rows and walks over the keys in tiles of BLOCK_N, four steps a tile
// with a barrier after each: copy K and V; scores to shared memory; softmax of each row there,
// online (Milakov and Gimelshein 2018); probabilities times V.
//
// Genes: BLOCK_M, BLOCK_N, WARPS.
// WORK (elements: a thread computes one score, or one output, after the other, and fetches both
// factors of every product from shared memory; rows: a warp owns rows, and what a lane fetches of K
// or V serves all of them).
// REDUCTION (who goes over a row for its maximum and sum: single: one
// thread, over all rows of the block; serial: one thread for each row; warp: 32).
// OUTPUT (in_shared, in_registers): where the output waits for the next tile.
// IO (scalar: 2 bytes a load or store of global memory; vector: 16).
// Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, LAYOUT_BSHD,
// WITH_LSE, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, ALIBI.

#include "tiled_defaults.cuh"

#include "element.cuh"
#include "features.cuh"
#include "heads.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "scores.cuh"
#include "tiled_memory.cuh"

__device__ __forceinline__ float2 pair_at(const Element* tile, int row, int column) {
  const unsigned bits = *reinterpret_cast<const unsigned*>(tile + row * kPitch + column);
  return {to_float(static_cast<Element>(bits & 0xffff)),
          to_float(static_cast<Element>(bits >> 16))};
}

// kRows x kKeys scores, kKeys of them 32 keys apart. Each pair of K that is fetched serves kRows
// rows.
template <int kRows, int kKeys>
__device__ __forceinline__ void score(const Memory& memory, const Scores& how, const Mask& mask,
                                      int row, int key, int first_row, int first_key) {
  float products[kRows][kKeys] = {};
  for (int d = 0; d < HEAD_DIM; d += 2) {
    float2 k[kKeys];
#pragma unroll
    for (int c = 0; c < kKeys; ++c) k[c] = pair_at(memory.k, key + c * 32, d);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float2 q = pair_at(memory.q, row + r, d);
#pragma unroll
      for (int c = 0; c < kKeys; ++c) products[r][c] += q.x * k[c].x + q.y * k[c].y;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kKeys; ++c) {
      const int of_row = first_row + row + r;
      const int of_key = first_key + key + c * 32;
      float value = Scores::kHasMod ? how.modified(products[r][c], of_row, of_key)
                                    : products[r][c] * how.factor;
      mask.apply(value, of_row, of_key);
      memory.scores[(row + r) * kScorePitch + key + c * 32] = value;
    }
}

template <typename Combine>
__device__ __forceinline__ float among_sharers(float value, Combine combine) {
#pragma unroll
  for (int step = kSharers / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// Scores to probabilities relative to the rows' running maxima. kSharers threads go over a row
// together.
__device__ __forceinline__ void softmax_tile(const Memory& memory) {
  const int lane = threadIdx.x % kSharers;
  if (kReduction == Reduction::single && threadIdx.x > 0) return;
  for (int row = threadIdx.x / kSharers; row < BLOCK_M; row += kAtOnce) {
    float* const scores = memory.scores + row * kScorePitch;
    const float before = memory.maximum[row];
    float largest = before;
    for (int key = lane; key < BLOCK_N; key += kSharers) largest = fmaxf(largest, scores[key]);
    largest = among_sharers(largest, [](float a, float b) { return fmaxf(a, b); });
    // While a row has seen no key, 0 stands in for its maximum: (-inf) - (-inf) would be NaN.
    const float row_offset = largest == minus_infinity() ? 0.0f : largest;
    float sum = 0.0f;
    for (int key = lane; key < BLOCK_N; key += kSharers) {
      scores[key] = exp2_approx(scores[key] - row_offset);
      sum += scores[key];
    }
    sum = among_sharers(sum, [](float a, float b) { return a + b; });
    if (kSharers > 1) __syncwarp();  // all have read the maximum
    if (lane == 0) {
      const float shrink = exp2_approx(before - row_offset);
      memory.maximum[row] = largest;
      memory.shrink[row] = shrink;
      memory.sum[row] = memory.sum[row] * shrink + sum;
    }
  }
}

// output = output * shrink + P V.
__device__ __forceinline__ void accumulate(Accumulators& output, const Memory& memory) {
  if constexpr (kWork == Work::elements) {
#pragma unroll
    for (int n = 0; n < kOwned; ++n) {
      if (!exists(n)) break;
      const int row = owned(n) / HEAD_DIM;
      const int column = owned(n) % HEAD_DIM;
      float sum = 0.0f;
      for (int key = 0; key < BLOCK_N; ++key)
        sum += memory.scores[row * kScorePitch + key] * to_float(memory.v[key * kPitch + column]);
      output[n] = output[n] * memory.shrink[row] + sum;
    }
  } else {
    float sums[kWarpRows][kColumns] = {};
    const int row = threadIdx.x / 32 * kWarpRows;
    for (int key = 0; key < BLOCK_N; ++key) {
      float v[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        v[c] = to_float(memory.v[key * kPitch + c * 32 + threadIdx.x % 32]);
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r) {
        const float p = memory.scores[(row + r) * kScorePitch + key];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sums[r][c] += p * v[c];
      }
    }
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        output[r * kColumns + c] = output[r * kColumns + c] * memory.shrink[row + r] + sums[r][c];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    attention_tiled(const Element* __restrict__ q, const Element* __restrict__ k,
                    const Element* __restrict__ v, Element* __restrict__ o, int lq, int lk,
                    float scale FEATURE_PARAMETERS) {
  extern __shared__ __align__(16) char shared[];
  const Memory memory(shared);
  const int q_stride = row_stride(gridDim.y);
  const int k_stride = row_stride(gridDim.y / KV_GROUP);
  enter_head(q, k, v, o, blockIdx.z, blockIdx.y, gridDim.y, lq, lk);
  const int first_row = blockIdx.x * BLOCK_M;
  const Mask mask(lq, lk, window_left, window_right);
  const Scores how(scale, softcap, ALIBI ? alibi_slopes[blockIdx.y] : 0.0f, lq, lk);

  copy_in<BLOCK_M>(memory.q, q, q_stride, first_row, lq);
  for (int row = threadIdx.x; row < BLOCK_M; row += kThreads) {
    memory.maximum[row] = minus_infinity();
    memory.sum[row] = 0.0f;
  }
  Accumulators output;
  output.mine = memory.output + threadIdx.x;
#pragma unroll
  for (int n = 0; n < kOwned; ++n) output[n] = 0.0f;

  const int begin = mask.first_key(first_row) / BLOCK_N * BLOCK_N;
  const int end = mask.end_key(min(first_row + BLOCK_M, lq) - 1);
  for (int tile = begin; tile < end; tile += BLOCK_N) {
    copy_in<BLOCK_N>(memory.k, k, k_stride, tile, lk);
    copy_in<BLOCK_N>(memory.v, v, k_stride, tile, lk);
    __syncthreads();
    if constexpr (kWork == Work::elements) {
      for (int i = threadIdx.x; i < BLOCK_M * BLOCK_N; i += kThreads)
        score<1, 1>(memory, how, mask, i / BLOCK_N, i % BLOCK_N, first_row, tile);
    } else {
      score<kWarpRows, BLOCK_N / 32>(memory, how, mask, threadIdx.x / 32 * kWarpRows,
                                     threadIdx.x % 32, first_row, tile);
    }
    __syncthreads();
    softmax_tile(memory);
    __syncthreads();
    accumulate(output, memory);
    __syncthreads();  // K, V and the probabilities have been read by all
  }

  // Q has done its duty: the output is gathered in its place, in rows. Without a tile no barrier
  // came yet.
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kOwned; ++n) {
    if (!exists(n)) break;
    const int row = owned(n) / HEAD_DIM;
    const float sum = memory.sum[row];
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;  // no key seen: the row is 0
    memory.q[row * kPitch + owned(n) % HEAD_DIM] =
        static_cast<Element>(pack(output[n] * inverse, 0.0f) & 0xffff);
  }
  __syncthreads();
  copy_out(o, memory.q, q_stride, first_row, lq);
  if (WITH_LSE) {
    const long long head = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
    for (int row = threadIdx.x; row < BLOCK_M && first_row + row < lq; row += kThreads)
      lse[head * lq + first_row + row] = row_lse(memory.maximum[row], memory.sum[row]);
  }
}
