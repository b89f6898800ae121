// Attention of few queries and many keys, for sm_80 and later: what a server asks for each new token.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D]
//
// and what features.cuh, heads.cuh, mask.cuh and scores.cuh add to it.
//
// Such a shape asks for little else than K and V, each byte of which is wanted once, at the speed of
// memory. So the heads of a group are rows of one tile (decode_rows.cuh), the keys of a head are given
// to SPLITS blocks, as many as it takes to keep all SMs loading, and every warp of a block streams
// keys of its own through a ring of its own (decode_copies.cuh), without a barrier of the block:
//
//   block s of a head's keys     | tile | tile | tile |   WARPS * WARP_KEYS keys a tile
//   warp w of a tile             | w's WARP_KEYS of it |
//
// At the end the warps join what they have through shared memory. With SPLITS > 1 that is a part of
// the row, which lies in workspaces until a second kernel joins them all (decode_join.cuh).
//
// Genes: BLOCK_M: rows a block, a multiple of 16: tensor cores know no fewer; WARPS, WARP_KEYS, STAGES,
// SPLITS; LAYOUT, Q_PLACE (in_shared, in_registers), RESCALE, MIN_BLOCKS and L2_HINT as in mma.cu;
// JOIN_THREADS: a block of the second kernel, of which each joins one row.
// Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, LAYOUT_BSHD,
// WITH_LSE, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, ALIBI.

#include "decode_defaults.cuh"

#include "copy.cuh"
#include "decode_copies.cuh"
#include "decode_join.cuh"
#include "decode_rows.cuh"
#include "decode_state.cuh"
#include "element.cuh"
#include "features.cuh"
#include "heads.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "mma_products.cuh"
#include "mma_softmax.cuh"
#include "scores.cuh"

#if SPLITS > 1
#define PARTS_PARAMETERS , float* __restrict__ partials, float* __restrict__ row_states
#else
#define PARTS_PARAMETERS
constexpr float* partials = nullptr;
constexpr float* row_states = nullptr;
#endif

// Grid: SPLITS, tiles of rows of all heads of K and V, B.
#if MIN_BLOCKS > 0
extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
#else
extern "C" __global__ void __launch_bounds__(kThreads)
#endif
    attention_decode(const Element* __restrict__ q, const Element* __restrict__ k,
                     const Element* __restrict__ v, Element* __restrict__ o, int lq, int lk,
                     float scale PARTS_PARAMETERS FEATURE_PARAMETERS) {
  extern __shared__ __align__(128) char memory[];
  const unsigned base = shared_address(memory);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row_tiles = (lq * KV_GROUP + BLOCK_M - 1) / BLOCK_M;
  const int kv_heads = gridDim.y / row_tiles;
  const int kv_head = blockIdx.y / row_tiles;
  const int first_row = blockIdx.y % row_tiles * BLOCK_M;
  const int batch = blockIdx.z, split = blockIdx.x;
  const Rows rows{batch, kv_head, kv_heads, lq};
  const Mask mask(lq, lk, window_left, window_right);

  const int first_query = query_of(first_row);
  const int last_query = query_of(min(first_row + BLOCK_M, rows.count()) - 1);
  const int first_of_all = mask.first_key(first_query) / kBlockKeys;
  const int end_of_all = (mask.end_key(last_query) + kBlockKeys - 1) / kBlockKeys;
  const int tiles = max(end_of_all - first_of_all, 0);
  const int first_tile =
      first_of_all + static_cast<int>(static_cast<long long>(tiles) * split / SPLITS);
  const int end_tile =
      first_of_all + static_cast<int>(static_cast<long long>(tiles) * (split + 1) / SPLITS);

  rows.load(base, q, first_row);
  commit_copies();
  const long long kv_start =
      LAYOUT_BSHD ? interleaved_start(batch, kv_head, kv_heads, lk)
                  : (static_cast<long long>(batch) * kv_heads + kv_head) * lk * HEAD_DIM;
  WarpCopies copies(base + kQBytes + warp * 2 * kRingBytes, k + kv_start, v + kv_start,
                    row_stride(kv_heads), warp * WARP_KEYS, lk, first_tile, end_tile);
#pragma unroll
  for (int ahead = 0; ahead < STAGES; ++ahead) {
    copies.begin_k(first_tile + ahead);
    copies.begin_v(first_tile + ahead);
  }
  wait_copies<2 * STAGES>();
  __syncthreads();
  unsigned q_held[kK][kM][4];
  if constexpr (kQPlace == QPlace::in_registers) {
#pragma unroll
    for (int step = 0; step < kK; ++step) load_q(q_held[step], q_address(base, step, 0, lane));
  }

  WarpState state = {};
  float slopes[kM][2];
#pragma unroll
  for (int i = 0; i < kM; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      state.maximum[i][h] = minus_infinity();
      const int row = min(first_row + i * 16 + h * 8 + lane / 4, rows.count() - 1);
      slopes[i][h] = ALIBI ? alibi_slopes[rows.head(row)] : 0.0f;
    }
  const Scores how(scale, softcap, 0.0f, lq, lk);
  const auto how_of = [&](int i, int h) { return how.with_slope(slopes[i][h]); };

  const int thread_row = first_row + lane / 4;
  constexpr bool kFoldMax = !Mask::kLimitsLast && !WINDOW_LEFT && !Scores::kHasMod;
  for (int tile = first_tile; tile < end_tile; ++tile) {
    const int first_key = copies.first_key(tile);
    copies.await();
    float scores[kM][kN][4] = {};
    float largest[kM][2];
    copy(largest, state.maximum);
    multiply_q_k<kFoldMax>(scores, largest, 0, q_held, base, copies.k_at(tile),
                           lane_k_offset(0, lane), 0, lane);
    __syncwarp();  // all lanes have read K's place
    copies.begin_k(tile + STAGES);

    if constexpr (Scores::kHasMod)
      apply_score_mod(scores, how_of, thread_row, first_key + lane % 4 * 2);
    const bool past_end = first_key + WARP_KEYS > lk;
    const bool past_last =
        Mask::kLimitsLast && first_key + WARP_KEYS - 1 > first_query + mask.last_shift;
    const bool before_first = WINDOW_LEFT && first_key < mask.first_key(last_query);
    const bool needs_mask = past_end || past_last || before_first;
    if (needs_mask) apply_mask(scores, 0, kN, mask, thread_row, first_key + lane % 4 * 2);
    if (needs_mask || !kFoldMax) {
      copy(largest, state.maximum);
      extend_row_max(largest, scores, 0, kN);
    }
    float row_offsets[kM][2];
    update_row_max(largest, state, row_offsets, how.factor, tile == first_tile);

    copies.await();
    multiply_p_v(state, scores, row_offsets, how.factor, copies.v_at(tile),
                 lane_v_offset(0, lane));
    __syncwarp();  // all lanes have read V's place
    copies.begin_v(tile + STAGES);
  }
  wait_copies<0>();
  join_warps(state, memory, warp, lane, how.factor, rows, first_row, split, o, lse, partials,
             row_states);
}

// Grid: rows, heads of K and V, B.
extern "C" __global__ void __launch_bounds__(JOIN_THREADS)
    attention_decode_join(const float* __restrict__ partials, const float* __restrict__ row_states,
                          Element* __restrict__ o, int lq LSE_PARAMETER) {
  const Rows rows{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y),
                  static_cast<int>(gridDim.y), lq};
  join_splits(rows, blockIdx.x, o, lse, partials, row_states);
}
