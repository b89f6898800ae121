// A warp's two products of attention, as steps of mma.sync.
#pragma once

#include "mma.cuh"
#include "mma_softmax.cuh"
#include "mma_warp.cuh"

// Where this lane's part of a warp's first fragment of Q lies, of step `step`.
__device__ __forceinline__ unsigned q_address(unsigned q_tile, int step, int warp_row, int lane) {
  return q_tile + Shared::offset(warp_row + lane % 16, step * 2 + lane / 16);
}
__device__ __forceinline__ void load_q(unsigned (&fragments)[kM][4], unsigned address) {
#pragma unroll
  for (int i = 0; i < kM; ++i) ldmatrix_x4(fragments[i], address + i * 16 * Shared::kPitch);
}

// Where a lane reads in a tile of K and of V: the warp's first keys and its first chunk of them.
__device__ __forceinline__ int lane_k_offset(int warp_key, int lane) {
  return key_offset(warp_key + lane % 8 + lane / 16 * 8, lane / 8 % 2);
}
__device__ __forceinline__ int lane_v_offset(int warp_key, int lane) {
  return key_offset(warp_key + lane % 16, lane / 16);
}

// Score fragments per inner loop: at least 8 independent mma per k-step to cover their latency (24
// clocks). With Q in shared memory use all, so that each Q fragment is loaded once per step.
constexpr int kFewest = kM < 4 ? 8 / kM : 2;
constexpr int kInnerFragments =
    kQPlace == QPlace::in_shared || kPartFragments % kFewest != 0 ? kPartFragments : kFewest;

// scores += Q K^T for this warp's rows and part `part` of its keys. With kFoldMax `largest` gets
// this thread's row maxima.
template <bool kFoldMax>
__device__ __forceinline__ void multiply_q_k(float (&scores)[kM][kN][4], float (&largest)[kM][2],
                                             int part, const unsigned (&q_held)[kK][kM][4],
                                             unsigned q_tile, unsigned k_tile, int lane_k,
                                             int warp_row, int lane) {
#pragma unroll
  for (int first = part * kPartFragments; first < (part + 1) * kPartFragments;
       first += kInnerFragments)
#pragma unroll
    for (int step = 0; step < kK; ++step) {
      unsigned q_read[kM][4];
      if constexpr (kQPlace == QPlace::in_shared)
        load_q(q_read, q_address(q_tile, step, warp_row, lane));
      const unsigned first_k = k_tile + further_chunk(lane_k, step * 2);
      const auto& q = kQPlace == QPlace::in_shared ? q_read : q_held[step];
#pragma unroll
      for (int j = first; j < first + kInnerFragments; j += 2) {
        unsigned k[4];
        ldmatrix_x4(k, first_k + key_of_fragment(j) * kKeyPitch);
#pragma unroll
        for (int i = 0; i < kM; ++i) {
          mma_16x8x16(scores[i][j], q[i], k[0], k[1]);
          mma_16x8x16(scores[i][j + 1], q[i], k[2], k[3]);
        }
      }
      if (kFoldMax && step + 1 == kK)
        extend_row_max(largest, scores, first, first + kInnerFragments);
    }
}

// Extends this thread's row maxima by 16 keys of the warp, from row `key` of the tile of keys and key
// `first_key` of all on.
__device__ __forceinline__ void extend_row_max_by_keys(float (&largest)[kM][2],
                                                       const unsigned (&q_held)[kK][kM][4],
                                                       unsigned q_tile, unsigned k_tile,
                                                       int warp_row, int key, int lane,
                                                       const Mask& mask, int first_row,
                                                       int first_key) {
  float scores[kM][2][4] = {};
#pragma unroll
  for (int step = 0; step < kK; ++step) {
    unsigned q_read[kM][4], k[4];
    if constexpr (kQPlace == QPlace::in_shared)
      load_q(q_read, q_address(q_tile, step, warp_row, lane));
    const auto& q = kQPlace == QPlace::in_shared ? q_read : q_held[step];
    ldmatrix_x4(k, k_tile + further_chunk(lane_k_offset(key, lane), step * 2));
#pragma unroll
    for (int i = 0; i < kM; ++i) {
      mma_16x8x16(scores[i][0], q[i], k[0], k[1]);
      mma_16x8x16(scores[i][1], q[i], k[2], k[3]);
    }
  }
  apply_mask(scores, 0, 2, mask, first_row, first_key + lane % 4 * 2);
  extend_row_max(largest, scores, 0, 2);
}

// output += P V. The accumulator layout of two score fragments is the A layout of one 16x16
// operand. Each step's products stand beside the next one's exponentials: the tensor cores and the
// special function unit work at a time. Of the first kDone of kSteps steps `p` has the
// probabilities already.
template <int kDone = 0, int kSteps = kN / 2>
__device__ __forceinline__ void multiply_p_v(WarpState& state, float (&p)[kM][kN][4],
                                             const float (&row_offsets)[kM][2], float factor,
                                             unsigned v_tile, int lane_v) {
  if constexpr (kDone == 0) probabilities(p, state, 0, 1, row_offsets, factor);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    unsigned a[kM][4];
#pragma unroll
    for (int i = 0; i < kM; ++i)
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const auto& fragment = p[i][2 * step + part];
        a[i][2 * part] = pack(fragment[0], fragment[1]);
        a[i][2 * part + 1] = pack(fragment[2], fragment[3]);
      }
    if (step + 1 >= kDone && step + 1 < kSteps)
      probabilities(p, state, step + 1, step + 2, row_offsets, factor);
#pragma unroll
    for (int d = 0; d < kD; d += 2) {
      unsigned v[4];
      ldmatrix_x4_transposed(
          v, v_tile + further_chunk(lane_v, d) + key_of_fragment(2 * step) * kKeyPitch);
#pragma unroll
      for (int i = 0; i < kM; ++i) {
        mma_16x8x16(state.output[i][d], a[i], v[0], v[1]);
        mma_16x8x16(state.output[i][d + 1], a[i], v[2], v[3]);
      }
    }
  }
}
