// Attention without tensor cores: the plain baseline that is easy to believe.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D]
//
// and what features.cuh, heads.cuh, mask.cuh and scores.cuh add to it.
//
// A warp owns BLOCK_M / WARPS query rows. Keys come through shared memory in tiles of BLOCK_N. For
// each 32 keys a lane computes one whole dot product a row; then the lanes own D / 32 output
// columns each and the 32 probabilities go round by shuffle. The softmax is online (Milakov and
// Gimelshein 2018): a running maximum and sum a row, the accumulator rescaled when the maximum
// moves.
//
// Genes: BLOCK_M, BLOCK_N, WARPS. Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL,
// CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, LAYOUT_BSHD, WITH_LSE, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP,
// ALIBI.

#include "scalar_defaults.cuh"

#include "element.cuh"
#include "features.cuh"
#include "heads.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "scores.cuh"

constexpr int kThreads = WARPS * 32;
constexpr int kRows = BLOCK_M / WARPS;
constexpr int kColumns = HEAD_DIM / 32;  // of the output, a lane
// One element more than HEAD_DIM would do for banks; two keep 4-byte reads aligned.
constexpr int kPitch = HEAD_DIM + 2;

extern "C" __global__ void __launch_bounds__(kThreads)
    attention_scalar(const Element* __restrict__ q, const Element* __restrict__ k,
                     const Element* __restrict__ v, Element* __restrict__ o, int lq, int lk,
                     float scale FEATURE_PARAMETERS) {
  extern __shared__ float shared[];
  // [BLOCK_M][HEAD_DIM], already scaled if that is all there is to do.
  float* const q_tile = shared;
  Element* const k_tile =
      reinterpret_cast<Element*>(q_tile + BLOCK_M * HEAD_DIM);  // [BLOCK_N][kPitch]
  Element* const v_tile = k_tile + BLOCK_N * kPitch;

  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const long long head = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  const int q_stride = row_stride(gridDim.y);
  const int k_stride = row_stride(gridDim.y / KV_GROUP);
  enter_head(q, k, v, o, blockIdx.z, blockIdx.y, gridDim.y, lq, lk);
  const Mask mask(lq, lk, window_left, window_right);
  const int first_row = blockIdx.x * BLOCK_M;

  const Scores scores(scale, softcap, ALIBI ? alibi_slopes[blockIdx.y] : 0.0f, lq, lk);
  const float q_factor = Scores::kHasMod ? 1.0f : scores.factor;
  for (int i = threadIdx.x; i < BLOCK_M * HEAD_DIM; i += kThreads) {
    const int row = first_row + i / HEAD_DIM;
    q_tile[i] = row < lq ? to_float(q[row * q_stride + i % HEAD_DIM]) * q_factor : 0.0f;
  }

  float maximum[kRows];
  float sum[kRows];
  float accumulator[kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    maximum[r] = minus_infinity();
    sum[r] = 0.0f;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) accumulator[r][c] = 0.0f;
  }

  const int first_key = mask.first_key(first_row) / BLOCK_N * BLOCK_N;
  const int end_key = mask.end_key(first_row + BLOCK_M - 1);
  for (int tile = first_key; tile < end_key; tile += BLOCK_N) {
    __syncthreads();  // the tile before has been read by all
    for (int i = threadIdx.x; i < BLOCK_N * HEAD_DIM / 2; i += kThreads) {
      const int key = i / (HEAD_DIM / 2);
      const int column = i % (HEAD_DIM / 2) * 2;
      unsigned k_pair = 0, v_pair = 0;
      if (tile + key < lk) {
        k_pair = *reinterpret_cast<const unsigned*>(k + (tile + key) * k_stride + column);
        v_pair = *reinterpret_cast<const unsigned*>(v + (tile + key) * k_stride + column);
      }
      *reinterpret_cast<unsigned*>(k_tile + key * kPitch + column) = k_pair;
      *reinterpret_cast<unsigned*>(v_tile + key * kPitch + column) = v_pair;
    }
    __syncthreads();

    for (int group = 0; group < BLOCK_N; group += 32) {
      float score[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) score[r] = 0.0f;
      for (int d = 0; d < HEAD_DIM; d += 2) {
        const unsigned pair =
            *reinterpret_cast<const unsigned*>(k_tile + (group + lane) * kPitch + d);
        const float k0 = to_float(static_cast<Element>(pair & 0xffff));
        const float k1 = to_float(static_cast<Element>(pair >> 16));
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const float* const query = q_tile + (warp * kRows + r) * HEAD_DIM + d;
          score[r] += query[0] * k0 + query[1] * k1;
        }
      }

      const int key = tile + group + lane;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int row = first_row + warp * kRows + r;
        if (Scores::kHasMod) score[r] = scores.modified(score[r], row, key);
        mask.apply(score[r], row, key);

        float largest = score[r];
        for (int step = 16; step > 0; step /= 2)
          largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
        largest = fmaxf(largest, maximum[r]);
        // While a row has seen no key, 0 stands in for its maximum: (-inf) - (-inf) would be NaN.
        const float row_offset = largest == minus_infinity() ? 0.0f : largest;
        const float shrink = exp2_approx(maximum[r] - row_offset);
        score[r] = exp2_approx(score[r] - row_offset);
        maximum[r] = largest;
        sum[r] = sum[r] * shrink + score[r];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) accumulator[r][c] *= shrink;
      }

      for (int j = 0; j < 32; ++j) {
        float values[kColumns];
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          values[c] = to_float(v_tile[(group + j) * kPitch + c * 32 + lane]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const float probability = __shfl_sync(0xffffffffu, score[r], j);
#pragma unroll
          for (int c = 0; c < kColumns; ++c) accumulator[r][c] += probability * values[c];
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = first_row + warp * kRows + r;
    for (int step = 16; step > 0; step /= 2) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], step);
    const float inverse = sum[r] > 0.0f ? 1.0f / sum[r] : 0.0f;  // no key seen: the row is 0
    if (row < lq) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        o[row * q_stride + c * 32 + lane] =
            static_cast<Element>(pack(accumulator[r][c] * inverse, 0.0f) & 0xffff);
      if (WITH_LSE && lane == 0)
        lse[head * lq + row] = row_lse(maximum[r], sum[r]);
    }
  }
}
