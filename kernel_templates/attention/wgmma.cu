// FlashAttention-3 class attention for Hopper's tensor cores (sm_90a): warpgroups with different
// work.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H / KV_GROUP, Lk, D], in any
//                                     strides: the tensor maps know them
//
// and what features.cuh, mask.cuh and scores.cuh add to it.
//
// Warpgroup 0 gives its registers away and only starts copies; each of the CONSUMERS warpgroups
// that follow has 64 query rows, of its own unless KEY_GROUPS share them. Over two tiles of BLOCK_N
// keys, time to the right, with OVERLAP `ahead` and rings of STAGES = 2:
//
//   producer warp 0   Q  K0 K1     K2                   K3                    K4
//   producer warp 1      V0 V1                                V2                    V3
//                        |         ^                    ^     ^               ^     ^
//                        v full    | empty              |     | empty         |     |
//   tensor cores          [ QK0  ]               [ QK1 ] [PV0]         [ QK2 ] [PV1]
//   softmax                        max0 exp0             max1  O* exp1         max2  O* exp2
//
// `full`: the slot's bytes are there. `empty`: every warp that reads the slot has arrived. A
// consumer keeps scores, softmax state and output (O) in registers, and P is the A operand of PV
// from there. With PING_PONG another consumer's products fall into the gaps of this one's. Tiles
// are walked over from the last to the first, so that those which need a mask come first.
//
// Genes: CONSUMERS, BLOCK_N, STAGES;
//   OVERLAP   none: every product is waited for; chained: the next Q K^T is queued behind P V;
//             ahead: Q K^T of the next tile and P V of this one are issued together; while P V runs
//             the next tile's maxima are found; ahead_held: its exponentials are computed too,
//             their conversion waits;
//   PV_PARTS  (without `ahead`) P V is issued in this many parts, each as soon as its probabilities
//             are there;
//   PING_PONG warpgroups take turns to issue their products, so that one's softmax meets another's
//             products;
//   RESCALE   always; voted: only if a row's offset moved in this warp; threshold: the offset moves
//             only when the maximum has grown by 2^kGrowth; by_sum: no maximum is looked for until the
//             sum of a tile's probabilities asks for one (rescale.cuh; wgmma_probabilities.cuh);
//   EXP_POLYNOMIAL  eighths of the exponentials that are computed on the multiply-add units;
//   HEAD_GROUP, PERSISTENT, PACK_HEADS  wgmma_tile_scheduler.cuh;
//   CLUSTER   2: two blocks share K and V, each loading half of them for both;
//   Q_PLACE   in_shared: Q K^T reads Q from there each time; in_registers: Q is read once;
//   Q_STAGES  places for Q: with 2 the next tile's Q comes while this one is in use;
//   CARRY     (`ahead`) the first Q K^T of the next tile runs with the last P V of this one;
//   O_PLACE   over_q: the output leaves through Q's place in shared memory; own: through one of its
//             own, so that the next Q can come earlier;
//   SPLIT_KV  this many blocks share the keys of a tile of rows: for few rows;
//   KEY_GROUPS  this many warpgroups of a block share the keys of 64 rows, each taking every
//             KEY_GROUPS-th tile: for rows that do not fill the chip with warpgroups. How both
//             are joined: wgmma_combine_splits.cuh;
//   BLOCKS    blocks an SM holds: 2 only with one consumer;
//   DEPENDENT_LAUNCH  dependent_launch.cuh.
// Given by the problem: HEAD_DIM, KV_GROUP, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16, WITH_LSE,
// WINDOW_LEFT, WINDOW_RIGHT, SOFTCAP, ALIBI; DTYPE_E4M3 with SCALE_ROWS and V_POWERS_OF_TWO:
// wgmma_transpose.cuh, wgmma_scales.cuh.

#include "wgmma_defaults.cuh"

#define BLOCK_M (64 * (CONSUMERS / KEY_GROUPS))

#include "dependent_launch.cuh"
#include "features.cuh"
#include "mask.cuh"
#include "math.cuh"
#include "mbarrier.cuh"
#include "scores.cuh"
#include "shared.cuh"
#include "tensor_copy.cuh"
#include "wgmma_consumer.cuh"
#include "wgmma_producer.cuh"
#include "wgmma_scales.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_tile_scheduler.cuh"
#if DTYPE_E4M3
#include "wgmma_transpose.cuh"
#endif

extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS)
    attention_wgmma(int lq, int lk, int heads, int batches, float scale,
                    // Behind what each warp reads, which so lies together: maps are 128 bytes.
                    const __grid_constant__ TensorMap q_map,
                    const __grid_constant__ TensorMap k_map,
                    const __grid_constant__ TensorMap v_map,
                    const __grid_constant__ TensorMap o_map FEATURE_PARAMETERS) {
  extern __shared__ __align__(1024) char memory[];
  const unsigned base = shared_address(memory);
  // Equal in all lanes, and known to be to the compiler.
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int lane = threadIdx.x % 32;
  const int rank = CLUSTER > 1 ? static_cast<int>(cluster_rank()) : 0;

  const int rows = lq * kPacked;
  const TileScheduler scheduler(rows, heads / kPacked, batches, rank);
  if (!PERSISTENT && HEAD_GROUP > 1 && !scheduler.more()) return;  // no such head

  if (threadIdx.x == 0) {
    prefetch_map(q_map);
    prefetch_map(k_map);
    make_barriers(base);
  }
  if (threadIdx.x == 32) {
    prefetch_map(v_map);
    prefetch_map(o_map);
  }
  if constexpr (CLUSTER > 1)
    sync_cluster();
  else
    __syncthreads();
  if constexpr (DEPENDENT_LAUNCH) {
    let_next_kernel_begin();
    wait_for_kernel_in_front();
  }

  const Mask mask(lq, lk, window_left, window_right);
  if (warp < 4) {
    if constexpr (kShiftsRegisters) give_registers<kFewRegisters>();
    if (warp == 0 && lane == 0) produce_q_k(base, scheduler, q_map, k_map, v_map, rows, mask, rank);
#if DTYPE_E4M3
    if (warp > 0) transpose_v(base, scheduler, rows, mask, warp - 1, lane);
#else
    if (warp == 1 && lane == 0) produce_v(base, scheduler, v_map, rows, mask, rank);
#endif
    // A cluster's barrier wants whole warps: the lanes that start copies come back to the others.
    if constexpr (kBlocksTogether > 1) __syncwarp();
    if constexpr (SPLIT_KV > 1) sync_cluster();  // with the consumers' join
  } else {
    if constexpr (kShiftsRegisters) take_registers<kManyRegisters>();
    const Scores how(scale, softcap, 0.0f, lq, lk);
    const Scales scales(q_scale, k_scale, v_scale, heads, lq, lk);
    Consumer(base, warp / 4 - 1, lane, how, rows, mask, scales, {lse, alibi_slopes, heads, lq})
        .run(scheduler, o_map);
  }
  // No block may go while another still copies into it or arrives at its barriers.
  if constexpr (kBlocksTogether > 1) sync_cluster();
}
