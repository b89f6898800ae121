// FlashAttention-2 class attention for tensor cores of sm_80 and later.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D]
//
// and what features.cuh, heads.cuh, mask.cuh and scores.cuh add to it.
//
// A block owns BLOCK_M query rows. Its warps form a grid: WARPS_M of them share the rows, WARPS_N
// the keys of every tile of BLOCK_N, and these join their parts once, at the end, through shared
// memory. Each warp over two tiles, time to the right, with STAGES = 2 slots for K and for V
// (mma_copies.cuh):
//
//   cp.async begun     K0 V0 K1     V1               K2               V2               K3
//   block barriers                |                |                |                |
//   tensor cores                    [ QK0 ]          [ PV0  ]         [ QK1 ]          [ PV1
//   softmax                                 max0     [ exp0 ]                 max1     [ exp1
//   passed when                   K0 is there      V0 is there      K1 is there      V1 is
//   and free then                                  K0's slot        V0's slot        K1's
//
// Scores, softmax state and output stay in registers. A step's exponentials stand beside the
// products of the step before. With TENSOR_COPY one thread asks the copy engine, and mbarriers of
// each slot take the place of the block's.
//
// Genes: BLOCK_M, BLOCK_N, WARPS_M, WARPS_N, STAGES; LAYOUT (plain, padded, swizzled): shared
// memory; Q_PLACE (in_shared: fragments are read again for each tile; in_registers; overlay: in
// registers, and Q passes through the K and V buffers, so it takes no shared memory of its own);
// RESCALE (always, voted, threshold, by_sum), see rescale.cuh; EPILOGUE (direct, staged: through
// shared memory, for 16-byte stores); MIN_BLOCKS: blocks an SM should hold, 0 leaves it to the
// compiler.
// Genes that a space may leave out: KV_ORDER (forwards, backwards: from the last tile, whose keys
// need the mask); SCHEDULE (by_rows: blocks begin in the order of a head's rows; longest_first: the
// last rows of all heads before those above them, which under a causal mask have fewer keys;
// both_ends: a block has as many rows from a head's first ones as from its last, so that all blocks
// have as many keys under that mask); L2_HINT (none, prefetch, keep) of K's and V's copies, see
// copy.cuh; TENSOR_COPY: K and V come by the copy engine of sm_90 and later; K_PARTS: this many
// parts of a tile of K are waited for one by one then; MASKED_TILES (among: each tile asks whether
// it has keys to hide; apart: those that may have are another loop body, and the others need no
// branch, which products and exponentials cannot pass; by_part: besides, parts of K that rows do
// not see are left out: those that a block does not see do not come, nor then half of V (with
// both_ends all do), and a warp passes over those that it does not see, by code of its own for each
// number of them, which masks the last one alone); EARLY_P: with by_sum and K_PARTS, this many
// quarters of a part's probabilities are computed beside the products of the next one, and the
// others beside P V; JOIN_PLACE (over_kv, own): where warps that share rows leave their sums for
// each other: in a place of its own they need not wait until all have done with K and V;
// DEPENDENT_LAUNCH: see dependent_launch.cuh; NEXT_BEGINS (at_start, at_end): where a block lets
// the next kernel begin then. Early its blocks are there sooner, but a block that has much code to
// read takes longer.
// Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, LAYOUT_BSHD,
// WITH_LSE, WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, ALIBI.

#include "mma_defaults.cuh"

#include "copy.cuh"
#include "dependent_launch.cuh"
#include "element.cuh"
#include "features.cuh"
#include "heads.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "mma_copies.cuh"
#include "mma_epilogue.cuh"
#include "mma_products.cuh"
#include "mma_softmax.cuh"
#include "mma_state.cuh"
#include "scores.cuh"
#include "tile.cuh"

// kParts: how many of K's parts rows see. kMayMask: any key may be masked. kMasksLast: keys of the
// last of these parts may. kFoldMax: fold row maxima into the QK loop; useless where a mask changes
// scores afterwards.
template <int kSeen, bool kAny, bool kLast, bool kFold>
struct TileKind {
  static constexpr int kParts = kSeen;
  static constexpr bool kMayMask = kAny;
  static constexpr bool kMasksLast = kLast;
  static constexpr bool kFoldMax = kFold;
};
using AnyTile = TileKind<K_PARTS, true, false, !Mask::kLimitsLast && !WINDOW_LEFT>;
using MaskedTile = TileKind<K_PARTS, true, false, false>;
using WholeTile = TileKind<K_PARTS, false, false, true>;
template <int kSeen>
using PartsOfTile = TileKind<kSeen, false, true, false>;

// Calls `act` with the kind of a tile of which `parts` parts are seen. All of them come first, as
// blocks with many parts take longest.
template <int kSeen = K_PARTS, typename Act>
__device__ __forceinline__ void with_parts(int parts, const Act& act) {
  if constexpr (kSeen > 1) {
    if (parts < kSeen) return with_parts<kSeen - 1>(parts, act);
  }
  act(PartsOfTile<kSeen>());
}

#if MIN_BLOCKS > 0
extern "C" __global__ void __launch_bounds__(kThreads, MIN_BLOCKS)
#else
extern "C" __global__ void __launch_bounds__(kThreads)
#endif
    attention_mma(const Element* __restrict__ q,
#if TENSOR_COPY
                  Element* __restrict__ o, int lq, int lk, int heads, float scale,
                  // Last: what each warp reads lies together, and maps are 128 bytes.
                  const __grid_constant__ TensorMap k_map, const __grid_constant__ TensorMap v_map
#else
                  const Element* __restrict__ k, const Element* __restrict__ v,
                  Element* __restrict__ o, int lq, int lk, int heads, float scale
#endif
                      FEATURE_PARAMETERS) {
  extern __shared__ __align__(TENSOR_COPY ? 1024 : 128) char memory[];
  const unsigned base = shared_address(memory);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  // With both_ends each scheduler of the SM has warps of both ends.
  const int warp_m = kBothEnds ? warp / WARPS_N : warp % WARPS_M;
  const int warp_n = kBothEnds ? warp % WARPS_N : warp / WARPS_M;
  const int warp_row = warp_m * kWarpRows;
  const int warp_key = warp_n * (kPartKeys / WARPS_N);

#if TENSOR_COPY
  Copies::prepare(base, k_map, v_map);
#endif
  // `heads` is a parameter, like all that is read here: the constants of gridDim lie elsewhere, and
  // are not in the caches either when a kernel begins.
  const unsigned head_of_batch = kLongestFirst ? blockIdx.x : blockIdx.y;
  const long long head = static_cast<long long>(blockIdx.z) * heads + head_of_batch;
  const int q_stride = row_stride(heads);
  const BlockRows rows(lq);
  if constexpr (kNextBegins == NextBegins::at_start) let_next_kernel_begin();
  const Mask mask(lq, lk, window_left, window_right);

  const int first_tile = mask.first_key(rows.first) / BLOCK_N;
  const int end_key = mask.end_key(min(rows.end, lq) - 1);
  const int end_tile = (end_key + BLOCK_N - 1) / BLOCK_N;
  // Whether a warp's rows see all keys of the parts in front of the last one that they see.
  const bool parts_fit = kPartKeys % kWarpRows == 0 && mask.last_shift % kWarpRows == 0;
  const Walk walk{first_tile, end_tile, base, parts_fit ? end_key : end_tile * BLOCK_N};
#if TENSOR_COPY
  const Element* __restrict__ k = nullptr;
  const Element* __restrict__ v = nullptr;
  Copies copies(walk, k_map, v_map, head_of_batch / KV_GROUP, blockIdx.z);
#endif
  enter_head(q, k, v, o, blockIdx.z, head_of_batch, heads, lq, lk);
  const auto wait = [](const Element* from, unsigned to) {
    if constexpr (DEPENDENT_LAUNCH) {
      compute_here(from, to);
      wait_for_kernel_in_front();
    }
  };
#if !TENSOR_COPY
  Copies copies(walk, k, v, row_stride(heads / KV_GROUP), lk);
#endif
  Shared::load_after<kGroupRows, kGroupThreads>(
      wait, base + kGroupRows * Shared::kPitch * rows.group, q, q_stride, rows.group_first, lq,
      kBothEnds ? threadIdx.x % kGroupThreads : threadIdx.x);
  commit_copies();
  const Scores how(scale, softcap, ALIBI ? alibi_slopes[head_of_batch] : 0.0f, lq, lk);
  unsigned q_held[kK][kM][4];
  if constexpr (kQPlace == QPlace::overlay) {
    wait_copies<0>();
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kK; ++step)
      load_q(q_held[step], q_address(base, step, warp_row, lane));
    __syncthreads();  // Q has been read by all: K may overwrite it
  }
  copies.await_barriers();
  copies.begin_first();
  const int own_row = rows.group_first + warp_row - rows.group * kGroupRows;  // the warp's first
  Element* lane_o =
      o + static_cast<long long>(own_row + lane / 4) * q_stride + lane % 4 * 2;
  // Over Q, and with JOIN_PLACE over_kv over what warps leave for each other.
  char* const staging = memory + warp_row * Shared::kPitch;
  StagedStore store_staged(o, staging, q_stride, own_row, lq, warp_n * 32 + lane);
  // Tiles of keys that all rows of the block see, as far as they exist.
  const int first_whole_tile = (mask.first_key(rows.end - 1) + BLOCK_N - 1) / BLOCK_N;
  const int end_whole_tile = mask.end_key(rows.first) / BLOCK_N;
  int lane_k = lane_k_offset(warp_key, lane);
  int lane_v = lane_v_offset(warp_key, lane);
  unsigned q_at[kK];
#pragma unroll
  for (int step = 0; step < kK; ++step) q_at[step] = q_address(base, step, warp_row, lane);
  // Where shapes are long that saves nothing, and registers are dear.
  if constexpr (TENSOR_COPY && kQPlace == QPlace::in_registers) {
    unsigned all = end_whole_tile | end_tile;
#pragma unroll
    for (int step = 0; step < kK; ++step) all |= q_at[step];
    lane_k = keep_computed(lane_k);
    lane_v = keep_computed(lane_v);
    if constexpr (kEpilogue == Epilogue::staged) store_staged.keep_places();
    compute_here(kEpilogue == Epilogue::staged ? store_staged.to() : lane_o, all);
  }
  if constexpr (TENSOR_COPY || kQPlace == QPlace::in_registers) copies.await_q(rows.group);
  if constexpr (kQPlace == QPlace::in_registers) {
#pragma unroll
    for (int step = 0; step < kK; ++step) load_q(q_held[step], q_at[step]);
  }

  WarpState state;
  clear(state);

  const int thread_row = own_row + lane / 4;
  // Of this warp's keys from first_key on.
  const auto has_hidden_keys = [&](int first_key) {
    const int last_key = first_key + key_of_fragment(kN - 1) + 7;
    const bool past_end = last_key >= lk;
    const bool past_last = Mask::kLimitsLast && last_key > own_row + mask.last_shift;
    const bool before_first =
        WINDOW_LEFT && first_key < mask.first_key(own_row + kWarpRows - 1);
    return past_end || past_last || before_first;
  };
  const auto process_tile = [&](int tile, auto kind) {
    constexpr bool kFoldMax = decltype(kind)::kFoldMax && !Scores::kHasMod;
    const int first_key = copies.first_key(tile) + warp_key;

    copies.await_k(tile, 0);
    if (!TENSOR_COPY || tile > first_tile) copies.begin_v(tile + STAGES - 1);
    float scores[kM][kN][4] = {};
    float largest[kM][2];
    copy(largest, state.maximum);
#pragma unroll
    for (int part = 0; part < K_PARTS; ++part) {
      if (part > 0) copies.await_k(tile, part);
      multiply_q_k<kFoldMax>(scores, largest, part, q_held, base, copies.k_at(tile), lane_k,
                             warp_row, lane);
    }
    copies.end_k(tile, lane);

    if constexpr (Scores::kHasMod)
      apply_score_mod(
          scores, [&](int, int) { return how; }, thread_row, first_key + lane % 4 * 2);
    bool needs_mask = false;
    if constexpr (decltype(kind)::kMayMask) {
      needs_mask = has_hidden_keys(first_key);
      if (needs_mask) apply_mask(scores, 0, kN, mask, thread_row, first_key + lane % 4 * 2);
    }
    if (needs_mask || !kFoldMax) {
      copy(largest, state.maximum);
      extend_row_max(largest, scores, 0, kN);
    }
    float row_offsets[kM][2];
    update_row_max(largest, state, row_offsets, how.factor, tile == first_tile);

    copies.await_v(tile);
    copies.begin_k(tile + STAGES);
    multiply_p_v(state, scores, row_offsets, how.factor, copies.v_at(tile), lane_v);
    copies.end_v(tile, lane);
  };
  float row_sums[kM][2] = {};
  // RESCALE by_sum: the maxima of the first keys stand for those of all, unless those are known.
  const auto process_tile_by_sum = [&](int tile, auto kind) {
    using Kind = decltype(kind);
    constexpr int kParts = Kind::kParts;
    const int first_key = copies.first_key(tile) + warp_key;
    copies.await_k(tile, 0);
    if (!TENSOR_COPY || tile > first_tile) copies.begin_v(tile + STAGES - 1);
    float scores[kM][kN][4] = {};
    // A sum that begins at -inf stays there.
    if (Kind::kMayMask && has_hidden_keys(first_key))
      apply_mask(scores, 0, kN, mask, thread_row, first_key + lane % 4 * 2);
    float row_offsets[kM][2];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (Kind::kMasksLast && part == kParts - 1)
        apply_mask(scores, part * kPartFragments, (part + 1) * kPartFragments, mask, thread_row,
                   first_key + lane % 4 * 2);
      if (part > 0) copies.await_k(tile, part);
      // From the last part on there is no wait and no branch, so that the exponentials find their
      // places beside the products of both.
      if (K_PARTS > 1 && part == kParts - 1) copies.await_v(tile);
      multiply_q_k<false>(scores, state.maximum, part, q_held, base, copies.k_at(tile), lane_k,
                          warp_row, lane);
      if (part == min(1, kParts - 1)) {
        // Beside the products of the second part. Those of a few keys will do; where they do not,
        // the sums say so.
        float largest[kM][2];
        copy(largest, state.maximum);
        extend_row_max(largest, scores, 0, 2);
        max_over_quads(largest);
        if (tile == first_tile) copy(state.maximum, largest);
        scale_row_offsets(row_offsets, state.maximum, how.factor);
      }
      if (part > 0)
        probabilities(scores, state, (part - 1) * kEarlySteps, part * kEarlySteps, row_offsets,
                      how.factor);
    }
    const auto next_k = [&] {
      // Parts that this warp left out have come too once all have read the tile: the warp with the
      // block's last row waits for what comes, or the warp that asks.
      copies.template await_rest_of_k<kParts>(tile);
      copies.end_k(tile, lane);
      if constexpr (K_PARTS == 1) copies.await_v(tile);
      copies.begin_k(tile + STAGES);
    };
    if constexpr (K_PARTS == 1) next_k();
    multiply_p_v<(kParts - 1) * kEarlySteps, kParts * kPartFragments / 2>(
        state, scores, row_offsets, how.factor, copies.v_at(tile), lane_v);
    // Needed after the last tile only, but here they stand beside its last products. Tiles that
    // have parts are large.
    if constexpr (K_PARTS > 1) {
      copy(row_sums, state.sum);
      sum_over_quads(row_sums);
      next_k();
    }
    copies.end_v(tile, lane);
  };
  const auto process_tiles = [&](const auto& process_tile) {
    for (int tile = first_tile; tile < end_tile; ++tile) {
      if constexpr (kMaskedTiles == MaskedTiles::by_part) {
        // All rows of this warp see the tile's keys in front of `whole`, and one those in front of
        // `seen`.
        const int whole = mask.end_key(min(own_row, lq - 1)) - copies.first_key(tile);
        const int seen = mask.end_key(min(own_row + kWarpRows, lq) - 1) - copies.first_key(tile);
        if (whole >= BLOCK_N)
          process_tile(tile, WholeTile());
        else if (!parts_fit)
          process_tile(tile, MaskedTile());
        else
          with_parts(parts_up_to(seen), [&](auto kind) { process_tile(tile, kind); });
      } else if constexpr (kMaskedTiles == MaskedTiles::apart) {
        const int key_tile = copies.first_key(tile) / BLOCK_N;
        if (key_tile >= end_whole_tile || (WINDOW_LEFT && key_tile < first_whole_tile)) {
          process_tile(tile, MaskedTile());
        } else {
          process_tile(tile, WholeTile());
        }
      } else {
        process_tile(tile, AnyTile());
      }
    }
    if constexpr (!TENSOR_COPY) wait_copies<0>();
  };
  // Of all keys that a lane has of a row; the pass that follows joins them with its first tile's.
  // Hardly ever needed, so it is short and not fast.
  const auto find_maxima = [&](int tile, auto) {
    const int first_key = copies.first_key(tile) + warp_key;
    const int parts = copies.parts_of(tile);
#pragma unroll
    for (int part = 0; part < K_PARTS; ++part)
      if (part < parts) copies.await_k(tile, part);
    if (!TENSOR_COPY || tile > first_tile) copies.begin_v(tile + STAGES - 1);
#pragma unroll 1
    for (int j = 0; j < parts * kPartFragments; j += 2)
      extend_row_max_by_keys(state.maximum, q_held, base, copies.k_at(tile), warp_row,
                             warp_key + key_of_fragment(j), lane, mask, thread_row,
                             first_key + key_of_fragment(j));
    copies.end_k(tile, lane);
    copies.await_v(tile);
    copies.begin_k(tile + STAGES);
    copies.end_v(tile, lane);
  };
  float4* const exchange =
      reinterpret_cast<float4*>(memory + (kJoinPlace == JoinPlace::own ? kJoinStart : 0));
  if constexpr (kRescale == Rescale::by_sum) {
    // Where a sum has outgrown its room a second pass finds the maxima, and a third is the first
    // one again: so there is one copy of what takes the most code.
#pragma unroll 1
    for (bool found = false;; found = true) {
      process_tiles(process_tile_by_sum);
      const bool grown = outgrown(state);
      if constexpr (K_PARTS > 1)
        copy(state.sum, row_sums);
      else
        sum_over_quads(state.sum);
      if constexpr (kJoinPlace == JoinPlace::own)
        leave_state(state, exchange, warp_m, warp_n, lane);
      if (!__syncthreads_or(grown) || found) break;
      clear(state);
      copies.restart();
      copies.begin_first();
      // It is the same for all kinds of tiles, of which by_part would make six copies.
      if constexpr (kMaskedTiles == MaskedTiles::by_part)
        for (int tile = first_tile; tile < end_tile; ++tile) find_maxima(tile, AnyTile());
      else
        process_tiles(find_maxima);
      __syncthreads();
      copies.restart();
      copies.begin_first();
    }
  } else {
    process_tiles(process_tile);
    sum_over_quads(state.sum);
    if constexpr (WARPS_N > 1 && kJoinPlace == JoinPlace::over_kv) __syncthreads();
  }

  if constexpr (WARPS_N > 1) {
    if constexpr (kRescale != Rescale::by_sum || kJoinPlace == JoinPlace::over_kv) {
      leave_state(state, exchange, warp_m, warp_n, lane);
      __syncthreads();
    }
    take_states(state, exchange, warp_m, warp_n, lane, how.factor);
  }
  if constexpr (kNextBegins == NextBegins::at_end) let_next_kernel_begin();
  // All have done with what lies where rows are staged: with Q since the barrier behind the
  // products, if there is one.
  constexpr bool kQIsRead = kRescale == Rescale::by_sum || WARPS_N > 1;
  constexpr bool kStatesAreElsewhere = WARPS_N == 1 || kJoinPlace == JoinPlace::own;
  if constexpr (kEpilogue == Epilogue::staged && !(kQIsRead && kStatesAreElsewhere))
    __syncthreads();
  store(state, store_staged, lane_o, q_stride, lse + head * lq, staging, own_row,
        warp_n, lq, lane, how.factor);
}
