// Attention with the tensor cores' portable interface, wmma, which tells nobody where in registers
// an element is: scores, probabilities and output pass through shared memory, and that is what this
// family pays for.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D]
//
// and what features.cuh, heads.cuh, mask.cuh and scores.cuh add to it.
//
// A block owns BLOCK_M query rows and walks over the keys in tiles of BLOCK_N, four steps a tile
// with a barrier after each: K and V are there; scores to shared memory; softmax of each row there
// by one warp, which also shrinks the row's output; output += probabilities times V.
//
// Genes: BLOCK_M, BLOCK_N, WARPS: those that compute.
// PV (scalar: on FMA units, from probabilities in single precision; wmma).
// COPY (plain: through registers, when they are needed; async: cp.async, STAGES - 1 tiles ahead;
// producer: the same by a warp that does nothing else), STAGES.
// LAYOUT (plain, padded, fragments): shared memory, see wmma_memory.cuh.
// EPILOGUE (separate: the output is divided in shared memory, then stored 2 bytes at a time; fused:
// divided, rounded and stored 16 bytes at a time in one go).
// PERSISTENT: as many blocks as the device holds take tiles of rows one after the other.
// L2_HINT (none, prefetch, keep): see copy.cuh.
// Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, LAYOUT_BSHD,
// WITH_LSE, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, ALIBI.

#include "wmma_defaults.cuh"

#include "features.cuh"
#include "heads.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "scores.cuh"
#include "wmma.cuh"
#include "wmma_memory.cuh"

// A warp's 16 rows of Q K^T, in every kParts-th 16 columns.
__device__ __forceinline__ void multiply_q_k(const Memory& memory, int k_start, int warp) {
  constexpr int kMine = BLOCK_N / 16 / kParts;
  const int row = warp % kStripes * 16;
  const int part = warp / kStripes;
  WmmaSum sums[kMine] = {};
#pragma unroll
  for (int d = 0; d < HEAD_DIM; d += 16) {
    const WmmaFactor q = load_a(memory.address + QkvTile::offset(row, d), QkvTile::kStride);
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      multiply_transposed(
          sums[j], q,
          load_b_transposed(memory.address + k_start + QkvTile::offset((j * kParts + part) * 16, d),
                            QkvTile::kStride));
  }
#pragma unroll
  for (int j = 0; j < kMine; ++j)
    store_sum(shared_address(memory.scores(row) + (j * kParts + part) * 16), sums[j], kScorePitch);
}

__device__ __forceinline__ void multiply_p_v(const Memory& memory, int v_start, int warp) {
  constexpr int kMine = HEAD_DIM / 16 / kParts;
  const int row = warp % kStripes * 16;
  const int part = warp / kStripes;
  const auto place = [&](int j) {
    return shared_address(memory.output(row) + (j * kParts + part) * 16);
  };
  WmmaSum sums[kMine];
#pragma unroll
  for (int j = 0; j < kMine; ++j) sums[j] = load_sum(place(j), kOutputPitch);
#pragma unroll
  for (int key = 0; key < BLOCK_N; key += 16) {
    const WmmaFactor p =
        load_a(memory.address + kPStart + Probabilities::offset(row, key), Probabilities::kStride);
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      multiply(sums[j], p,
               load_b(memory.address + v_start + QkvTile::offset(key, (j * kParts + part) * 16),
                      QkvTile::kStride));
  }
#pragma unroll
  for (int j = 0; j < kMine; ++j) store_sum(place(j), sums[j], kOutputPitch);
}

// The same without tensor cores: a thread has two columns of some rows.
__device__ __forceinline__ void multiply_p_v_scalar(const Memory& memory, int v_start) {
  constexpr int kRows = BLOCK_M * (HEAD_DIM / 2) / kWorkers;
  const int column = static_cast<int>(threadIdx.x) % (HEAD_DIM / 2) * 2;
  const int row = static_cast<int>(threadIdx.x) / (HEAD_DIM / 2) * kRows;
  float2 sums[kRows] = {};
  for (int key = 0; key < BLOCK_N; ++key) {
    const unsigned bits =
        *reinterpret_cast<const unsigned*>(memory.base + v_start + QkvTile::offset(key, column));
    const float low = to_float(static_cast<Element>(bits & 0xffff));
    const float high = to_float(static_cast<Element>(bits >> 16));
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float p = memory.scores(row + r)[key];
      sums[r].x += p * low;
      sums[r].y += p * high;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    memory.output(row + r)[column] += sums[r].x;
    memory.output(row + r)[column + 1] += sums[r].y;
  }
}

// Products to probabilities relative to the rows' running maxima; outputs so far shrink with them.
__device__ __forceinline__ void softmax_tile(const Memory& memory, const Scores& how,
                                             const Mask& mask, int first_row, int first_key,
                                             int warp, int lane) {
  constexpr int kMine = (BLOCK_N + 31) / 32;  // keys a lane
  for (int row = warp; row < BLOCK_M; row += WARPS) {
    float scores[kMine];
    const float before = memory.maximum(row);
    float largest = before;
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const int key = j * 32 + lane;
      scores[j] = minus_infinity();
      if (BLOCK_N % 32 != 0 && key >= BLOCK_N) continue;
      const float product = memory.scores(row)[key];
      scores[j] = Scores::kHasMod ? how.modified(product, first_row + row, first_key + key)
                                  : product * how.factor;
      mask.apply(scores[j], first_row + row, first_key + key);
      largest = fmaxf(largest, scores[j]);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    // While a row has seen no key, 0 stands in for its maximum: (-inf) - (-inf) would be NaN.
    const float row_offset = largest == minus_infinity() ? 0.0f : largest;
    const float shrink = exp2_approx(before - row_offset);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const int key = j * 32 + lane;
      if (BLOCK_N % 32 != 0 && key >= BLOCK_N) continue;
      const float p = exp2_approx(scores[j] - row_offset);
      sum += p;
      if constexpr (kPv == Pv::scalar) {
        memory.scores(row)[key] = p;
      } else {
        *reinterpret_cast<Element*>(memory.base + kPStart + Probabilities::offset(row, key)) =
            static_cast<Element>(pack(p, 0.0f) & 0xffff);
      }
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    for (int column = lane; column < HEAD_DIM; column += 32) memory.output(row)[column] *= shrink;
    __syncwarp();  // all lanes have read the maximum
    if (lane == 0) {
      memory.maximum(row) = largest;
      memory.sum(row) = memory.sum(row) * shrink + sum;
    }
  }
}

// The block's rows of O and of the LSE.
__device__ __forceinline__ void store(const Memory& memory, Element* o, int stride, float* row_lses,
                                      int first_row, int lq) {
  const auto inverse = [&](int row) {
    const float sum = memory.sum(row);
    return sum > 0.0f ? 1.0f / sum : 0.0f;  // no key seen: the row is 0
  };
  if constexpr (kEpilogue == Epilogue::separate) {
    for (int i = threadIdx.x; i < BLOCK_M * HEAD_DIM; i += kThreads)
      memory.output(i / HEAD_DIM)[i % HEAD_DIM] *= inverse(i / HEAD_DIM);
    // Each thread stores what it divided: no barrier.
    for (int i = threadIdx.x; i < BLOCK_M * HEAD_DIM && first_row + i / HEAD_DIM < lq;
         i += kThreads)
      o[static_cast<long long>(first_row + i / HEAD_DIM) * stride + i % HEAD_DIM] =
          static_cast<Element>(pack(memory.output(i / HEAD_DIM)[i % HEAD_DIM], 0.0f) & 0xffff);
  } else {
    for (int i = threadIdx.x * 8; i < BLOCK_M * HEAD_DIM && first_row + i / HEAD_DIM < lq;
         i += kThreads * 8) {
      const int row = i / HEAD_DIM;
      const float by = inverse(row);
      const float* const from = memory.output(row) + i % HEAD_DIM;
      *reinterpret_cast<uint4*>(o + static_cast<long long>(first_row + row) * stride +
                                i % HEAD_DIM) =
          uint4{pack(from[0] * by, from[1] * by), pack(from[2] * by, from[3] * by),
                pack(from[4] * by, from[5] * by), pack(from[6] * by, from[7] * by)};
    }
  }
  if (WITH_LSE)
    for (int row = threadIdx.x; row < BLOCK_M && first_row + row < lq; row += kThreads)
      row_lses[first_row + row] = row_lse(memory.maximum(row), memory.sum(row));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    attention_wmma(const Element* __restrict__ all_q, const Element* __restrict__ all_k,
                   const Element* __restrict__ all_v, Element* __restrict__ all_o, int lq, int lk,
                   int heads, int batches, float scale FEATURE_PARAMETERS) {
  extern __shared__ __align__(128) char shared[];
  const Memory memory(shared);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const bool copies = kCopy != Copy::producer || warp == WARPS;
  const bool computes = kCopy != Copy::producer || warp < WARPS;
  const int q_stride = row_stride(heads);
  const int k_stride = row_stride(heads / KV_GROUP);
  const Mask mask(lq, lk, window_left, window_right);

  const int row_tiles = (lq + BLOCK_M - 1) / BLOCK_M;
  int work = blockIdx.x;
  do {
    const int among_all = work / row_tiles;
    const int batch = among_all / heads;
    const int head = among_all % heads;
    const int first_row = work % row_tiles * BLOCK_M;
    const Element *__restrict__ q = all_q, *__restrict__ k = all_k, *__restrict__ v = all_v;
    Element* __restrict__ o = all_o;
    enter_head(q, k, v, o, batch, head, heads, lq, lk);
    const Scores how(scale, softcap, ALIBI ? alibi_slopes[head] : 0.0f, lq, lk);

    const int first_tile = mask.first_key(first_row) / BLOCK_N;
    const int end_tile = (mask.end_key(min(first_row + BLOCK_M, lq) - 1) + BLOCK_N - 1) / BLOCK_N;
    // A tile past the end copies nothing, but its (empty) group is committed all the same: so the
    // number of groups that may still be under way at a wait does not depend on the tile.
    const auto begin = [&](int tile) {
      if (!copies) return;
      if (tile < end_tile) {
        memory.copy_in<BLOCK_N>(kKStart + tile % STAGES * kTileBytes, k, k_stride, tile * BLOCK_N,
                                lk);
        memory.copy_in<BLOCK_N>(kVStart + tile % STAGES * kTileBytes, v, k_stride, tile * BLOCK_N,
                                lk);
      }
      if constexpr (kCopy != Copy::plain) commit_copies();
    };
    if (copies) {
      memory.copy_in<BLOCK_M>(0, q, q_stride, first_row, lq);
      if constexpr (kCopy != Copy::plain) commit_copies();
    }
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) begin(first_tile + ahead);
    for (int i = threadIdx.x; i < BLOCK_M * HEAD_DIM; i += kThreads)
      memory.output(i / HEAD_DIM)[i % HEAD_DIM] = 0.0f;
    for (int row = threadIdx.x; row < BLOCK_M; row += kThreads) {
      memory.maximum(row) = minus_infinity();
      memory.sum(row) = 0.0f;
    }

    for (int tile = first_tile; tile < end_tile; ++tile) {
      begin(tile + STAGES - 1);
      if constexpr (kCopy != Copy::plain) wait_copies<STAGES - 1>();
      __syncthreads();
      if (computes) multiply_q_k(memory, kKStart + tile % STAGES * kTileBytes, warp);
      __syncthreads();
      if (computes) softmax_tile(memory, how, mask, first_row, tile * BLOCK_N, warp, lane);
      __syncthreads();
      const int v_start = kVStart + tile % STAGES * kTileBytes;
      if constexpr (kPv == Pv::wmma) {
        if (computes) multiply_p_v(memory, v_start, warp);
      } else {
        if (computes) multiply_p_v_scalar(memory, v_start);
      }
      __syncthreads();  // the probabilities and this tile's K and V have been read by all
    }
    if constexpr (kCopy != Copy::plain) wait_copies<0>();
    if (first_tile >= end_tile) __syncthreads();  // no tile, no barrier yet
    store(memory, o, q_stride, lse + static_cast<long long>(among_all) * lq, first_row, lq);
    work += static_cast<int>(gridDim.x);
    if (PERSISTENT) __syncthreads();  // the output has been read by all
  } while (PERSISTENT && work < row_tiles * heads * batches);
}
