// FlashAttention-3 class attention for Hopper's tensor cores (sm_90a): warpgroups with different work.
//
//   O = softmax(scale * Q K^T) V      Q, O: [B, H, Lq, D]   K, V: [B, H, Lk, D], in any strides:
//                                     the tensor maps know them
//
// Warpgroup 0 gives its registers away and only starts copies: its warp 0 brings Q and K, its warp 1 V.
// Each of the CONSUMERS warpgroups that follow owns 64 query rows. It multiplies Q K^T from shared memory
// (wgmma), keeps the scores, the softmax and its part of the output in registers, and uses the probabilities
// from there as the A operand of P V. Tiles of BLOCK_N keys are walked over from the last to the first, so
// that those which need a mask come first.
//
// K and V come through rings of STAGES tiles. A tile's `full` barrier is passed when its bytes are there, its
// `empty` barrier when every warp that reads it has arrived.
//
// Genes: CONSUMERS, BLOCK_N, STAGES;
//   OVERLAP   none: every product is waited for; chained: the next Q K^T is queued behind P V;
//             ahead: Q K^T of the next tile and P V of this one are issued together; while P V runs the next
//             tile's maxima are found; ahead_held: its exponentials are computed too, their conversion waits;
//   PV_PARTS  (without `ahead`) P V is issued in so many parts, each as soon as its probabilities are there;
//   PING_PONG warpgroups take turns to issue their products, so that one's softmax meets another's products;
//   RESCALE   always; voted: only if a row's reference moved in this warp; threshold: the reference moves
//             only when the maximum has grown by 2^8;
//   EXP_POLYNOMIAL  eighths of the exponentials that are computed on the multiply-add units;
//   HEAD_GROUP, PERSISTENT  wgmma_schedule.cuh;
//   CLUSTER   2: two blocks share K and V, each loading half of them for both;
//   Q_PLACE   in_shared: Q K^T reads Q from there each time; in_registers: Q is read once;
//   Q_STAGES  places for Q: with 2 the next tile's Q comes while this one is in use;
//   CARRY     (`ahead`) the first Q K^T of the next tile runs with the last P V of this one;
//   O_PLACE   over_q: the output leaves through Q's place in shared memory; own: through one of its own, so
//             that the next Q can come earlier;
//   BLOCKS    blocks an SM holds: 2 only with one consumer.
// Given by the problem: HEAD_DIM, CAUSAL, CAUSAL_BOTTOM_RIGHT, DTYPE_BF16.

#define BLOCK_M (64 * CONSUMERS)

#include "mbarrier.cuh"
#include "mma.cuh"
#include "shared.cuh"
#include "store_matrix.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"
#include "wgmma_schedule.cuh"
#include "wgmma_softmax.cuh"

enum class Overlap { none, chained, ahead, ahead_held };
enum class QPlace { in_shared, in_registers };
enum class OPlace { over_q, own };
constexpr Overlap kOverlap = Overlap::OVERLAP;
constexpr QPlace kQPlace = QPlace::Q_PLACE;
constexpr OPlace kOPlace = OPlace::O_PLACE;
constexpr bool kAhead = kOverlap == Overlap::ahead || kOverlap == Overlap::ahead_held;
constexpr bool kCarry = CARRY && kAhead;

constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kThreads = (1 + CONSUMERS) * kGroup;
constexpr int kConsumerWarps = 4 * CONSUMERS;
// Registers a thread, of the warpgroup that copies and of those that compute: in all no more than the block starts
// with, which the launch bounds say. One block of one consumer starts with as many as there can be.
constexpr bool kShiftsRegisters = CONSUMERS > 1 || BLOCKS > 1;
constexpr int kFewRegisters = CONSUMERS == 2 ? 40 : CONSUMERS == 3 ? 32 : 24;
constexpr int kManyRegisters = CONSUMERS == 4 ? 112 : CONSUMERS == 3 ? 160 : 232;
constexpr int kPanels = (HEAD_DIM + 63) / 64;  // a tile lies in panels of 64 columns, which are 128 bytes
constexpr int kQPanel = BLOCK_M * 128;
constexpr int kKeyPanel = BLOCK_N * 128;
constexpr int kQBytes = kPanels * kQPanel;
constexpr int kKeyBytes = kPanels * kKeyPanel;

// Shared memory, from a multiple of 1024 on: the ring of Q, O if it has a place, the rings of K and V, the barriers.
constexpr int kO = Q_STAGES * kQBytes;
constexpr int kK = kO + (kOPlace == OPlace::own ? kQBytes : 0);
constexpr int kV = kK + STAGES * kKeyBytes;
constexpr int kQFull = kV + STAGES * kKeyBytes;
constexpr int kQEmpty = kQFull + 8 * Q_STAGES;
constexpr int kKFull = kQEmpty + 8 * Q_STAGES;
constexpr int kKEmpty = kKFull + 8 * STAGES;
constexpr int kVFull = kKEmpty + 8 * STAGES;
constexpr int kVEmpty = kVFull + 8 * STAGES;

using Place = RingPlace<STAGES>;

// Numbered barriers: a warpgroup's own, and the one that lets it issue products (PING_PONG).
__device__ __forceinline__ int own_barrier(int group) { return 1 + group; }
__device__ __forceinline__ int turn_barrier(int group) { return 1 + CONSUMERS + group; }

__device__ __forceinline__ void make_barriers(unsigned base) {
#pragma unroll
  for (int slot = 0; slot < Q_STAGES; ++slot) {
    init_mbarrier(base + kQFull + 8 * slot, 1);
    init_mbarrier(base + kQEmpty + 8 * slot, kConsumerWarps);
  }
#pragma unroll
  for (int slot = 0; slot < STAGES; ++slot) {
    init_mbarrier(base + kKFull + 8 * slot, 1);
    init_mbarrier(base + kVFull + 8 * slot, 1);
    init_mbarrier(base + kKEmpty + 8 * slot, kConsumerWarps * CLUSTER);
    init_mbarrier(base + kVEmpty + 8 * slot, kConsumerWarps * CLUSTER);
  }
  publish_mbarriers();
}

// One thread: this block's part of a tile of keys into the ring, for all blocks of the cluster.
__device__ __forceinline__ void load_keys(unsigned ring, unsigned full, unsigned empty, Place& at,
                                          const TensorMap& map, const Tile& tile, int first_key,
                                          int rank) {
  constexpr int kRows = BLOCK_N / CLUSTER;
  wait_for(empty + 8 * at.slot, at.parity ^ 1);
  arrive_and_expect(full + 8 * at.slot, kKeyBytes);
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    const unsigned to = ring + at.slot * kKeyBytes + panel * kKeyPanel + rank * kRows * 128;
    if constexpr (CLUSTER > 1)
      load_box_for((1 << CLUSTER) - 1, to, map, full + 8 * at.slot, panel * 64,
                   first_key + rank * kRows, tile.head, tile.batch);
    else
      load_box(to, map, full + 8 * at.slot, panel * 64, first_key, tile.head, tile.batch);
  }
  at.advance();
}

__device__ __forceinline__ void produce_q_k(unsigned base, Schedule schedule, const TensorMap& q_map,
                                            const TensorMap& k_map, int lq, int lk, int rank) {
  Place at;
  RingPlace<Q_STAGES> q_at;
  for (; schedule.more(); schedule.next()) {
    const Tile tile = schedule.tile();
    const int tiles = cluster_key_tiles(tile, lq, lk);
    if (tiles == 0) continue;
    const unsigned full = base + kQFull + 8 * q_at.slot;
    wait_for(base + kQEmpty + 8 * q_at.slot, q_at.parity ^ 1);
    arrive_and_expect(full, kQBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel)
      load_box(base + q_at.slot * kQBytes + panel * kQPanel, q_map, full, panel * 64,
               tile.first_row, tile.head, tile.batch);
    q_at.advance();
    for (int j = tiles - 1; j >= 0; --j)
      load_keys(base + kK, base + kKFull, base + kKEmpty, at, k_map, tile, j * BLOCK_N, rank);
  }
}

__device__ __forceinline__ void produce_v(unsigned base, Schedule schedule, const TensorMap& v_map,
                                          int lq, int lk, int rank) {
  Place at;
  for (; schedule.more(); schedule.next()) {
    const Tile tile = schedule.tile();
    for (int j = cluster_key_tiles(tile, lq, lk) - 1; j >= 0; --j)
      load_keys(base + kV, base + kVFull, base + kVEmpty, at, v_map, tile, j * BLOCK_N, rank);
  }
}

// A tile as one warpgroup sees it.
struct Work {
  Tile tile;
  int first_row;  // of this warpgroup
  int tiles;      // of keys, that the block loads
  int seen;       // of these, the first so many that a row of this warpgroup sees
  int clean;      // of these, the first so many that need no mask
};

__device__ __forceinline__ Work work_of(const Schedule& schedule, int group, int lq, int lk) {
  Work work;
  work.tile = schedule.tile();
  work.first_row = work.tile.first_row + group * 64;
  work.tiles = cluster_key_tiles(work.tile, lq, lk);
  work.seen = work.first_row < lq
                  ? key_tiles(visible_keys(min(work.first_row + 64, lq) - 1, lq, lk))
                  : 0;
  work.clean = visible_keys(work.first_row, lq, lk) / BLOCK_N;
  return work;
}

// What one thread of a warpgroup of consumers holds.
struct State {
  float output[kOutputs];
  float scores[kScores];
  unsigned p[kSteps][4];
  unsigned q[HEAD_DIM / 16][4];  // Q_PLACE in_registers
  Rows rows;
};

__device__ __forceinline__ void clear(float (&output)[kOutputs]) {
#pragma unroll
  for (int i = 0; i < kOutputs; ++i) output[i] = 0.0f;
}

__device__ __forceinline__ Rows fresh_rows() {
  return {{minus_infinity(), minus_infinity()}, {0.0f, 0.0f}};
}

// One warpgroup of consumers.
class Consumer {
 public:
  __device__ __forceinline__ Consumer(unsigned base, int group, int lane, float scale_log2, int lq,
                                      int lk)
      : base_(base),
        q_(matrix_at(base + group * 8192, 16, 1024)),
        k_(matrix_at(base + kK, 16, 1024)),
        v_(matrix_at(base + kV, kKeyPanel, 1024)),
        group_(group),
        lane_(lane),
        scale_log2_(scale_log2),
        lq_(lq),
        lk_(lk) {}

  __device__ __forceinline__ void run(Schedule schedule, const TensorMap& o_map) {
    if (PING_PONG && group_ == CONSUMERS - 1) arrive_numbered(turn_barrier(0), 2 * kGroup);
    State state;
    bool begun = false;
    while (schedule.more()) {
      const Work work = work_of(schedule, group_, lq_, lk_);
      schedule.next();
      if (!begun) {
        state.rows = fresh_rows();
        clear(state.output);
        if (work.tiles > 0) take_q(state);
        skip(work);
      }
      begun = kAhead ? attend_ahead(state, work, schedule, begun, o_map)
                                         : attend(state, work, o_map);
    }
    if (PING_PONG && group_ == 0) sync_numbered(turn_barrier(0), 2 * kGroup);
    if (leads()) wait_stores();
  }

 private:
  __device__ __forceinline__ int warp() const { return threadIdx.x / 32 % 4; }
  __device__ __forceinline__ bool leads() const { return warp() == 0 && lane_ == 0; }

  // The warp has read what `barrier` guards, here and, if it is shared, in the cluster's other blocks.
  __device__ __forceinline__ void release(int barrier, bool shared) {
    if (CLUSTER > 1 && shared) {
      if (lane_ < CLUSTER) arrive_in_cluster(base_ + barrier, lane_);
    } else if (lane_ == 0) {
      arrive(base_ + barrier);
    }
  }
  __device__ __forceinline__ void wait_q() { wait_for(base_ + kQFull + 8 * q_at_.slot, q_at_.parity); }
  __device__ __forceinline__ void wait_k() { wait_for(base_ + kKFull + 8 * k_at_.slot, k_at_.parity); }
  __device__ __forceinline__ void wait_v() { wait_for(base_ + kVFull + 8 * v_at_.slot, v_at_.parity); }
  __device__ __forceinline__ void release_q() {
    release(kQEmpty + 8 * q_at_.slot, false);
    q_at_.advance();
  }
  __device__ __forceinline__ void release_k() {
    release(kKEmpty + 8 * k_at_.slot, true);
    k_at_.advance();
  }
  __device__ __forceinline__ void release_v() {
    release(kVEmpty + 8 * v_at_.slot, true);
    v_at_.advance();
  }

  __device__ __forceinline__ void await_turn() {
    if constexpr (PING_PONG) sync_numbered(turn_barrier(group_), 2 * kGroup);
  }
  __device__ __forceinline__ void end_turn() {
    if constexpr (PING_PONG)
      arrive_numbered(turn_barrier(group_ == CONSUMERS - 1 ? 0 : group_ + 1), 2 * kGroup);
  }

  // Passes over the tiles of keys that the block's lower rows see and these do not. K and V take turns: who
  // ran ahead in one ring only could wait there for somebody who waits in the other for him.
  __device__ __forceinline__ void skip(const Work& work) {
    for (int j = work.tiles; j > work.seen; --j) {
      wait_k();
      release_k();
      await_turn();
      end_turn();
      wait_v();
      release_v();
    }
  }

  // Once Q is there.
  __device__ __forceinline__ void take_q(State& state) {
    wait_q();
    if constexpr (kQPlace == QPlace::in_registers) {
      const unsigned row = base_ + q_at_.slot * kQBytes + (group_ * 64 + warp() * 16 + lane_ % 16) * 128;
#pragma unroll
      for (int step = 0; step < HEAD_DIM / 16; ++step) {
        const int chunk = step % 4 * 2 + lane_ / 16;
        ldmatrix_x4(state.q[step], row + step / 4 * kQPanel + ((chunk ^ lane_ % 8) << 4));
      }
    }
  }

  __device__ __forceinline__ void issue_q_k(State& state) {
    auto& scores = state.scores;
    const unsigned long long q = moved(q_, q_at_.slot * kQBytes);
    const unsigned long long k = moved(k_, k_at_.slot * kKeyBytes);
    hold(scores);
    begin_products();
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; ++step) {
      const int panel = step / 4;
      const int along = step % 4 * 32;
      const unsigned long long b = moved(k, panel * kKeyPanel + along);
      if constexpr (kQPlace == QPlace::in_registers)
        Wgmma<BLOCK_N>::template from_registers<0>(scores, state.q[step], b, step != 0);
      else
        Wgmma<BLOCK_N>::from_shared(scores, moved(q, panel * kQPanel + along), b, step != 0);
    }
    commit_products();
  }

  template <int kFirst, int kEnd>
  __device__ __forceinline__ void issue_p_v(State& state) {
    const unsigned long long v = moved(v_, v_at_.slot * kKeyBytes);
    hold(state.output);
    begin_products();
#pragma unroll
    for (int step = kFirst; step < kEnd; ++step)
      Wgmma<HEAD_DIM>::from_registers<1>(state.output, state.p[step], moved(v, step * 2048), 1);
    commit_products();
  }

  __device__ __forceinline__ void finish_p_v(State& state) {
    wait_products<0>();
    hold(state.output);
    release_v();
  }

  __device__ __forceinline__ void mask_tile(State& state, const Work& work, int j) {
    mask(state.scores, work.first_row + warp() * 16 + lane_ / 4, j * BLOCK_N, lane_, lq_, lk_);
  }

  // All key tiles of `work`, from the last to the first. `begun`: the first one's probabilities are there.
  // Returns whether those of the next piece of work are.
  __device__ __forceinline__ bool attend_ahead(State& state, const Work& work,
                                               const Schedule& following, bool begun,
                                               const TensorMap& o_map) {
    float shrink[2], subtract[2];
    bool carried = false;
    if (work.seen > 0) {
      int j = work.seen - 1;
      if (!begun) {
        wait_k();
        await_turn();
        issue_q_k(state);
        end_turn();
        wait_products<0>();
        hold(state.scores);
        release_k();
        if (j >= work.clean) mask_tile(state, work, j);
        refer<true>(state.scores, state.rows, shrink, subtract, scale_log2_);
        exponentiate_and_pack<0, kSteps>(state.p, state.scores, state.rows, subtract, scale_log2_);
      }
      for (--j; j >= 0; --j) {
        if (j >= work.clean)
          soften_meanwhile<true>(state, state.rows, shrink, subtract, work, j);
        else
          soften_meanwhile<false>(state, state.rows, shrink, subtract, work, j);
        rescale(state.output, shrink);
        take_probabilities(state, subtract);
      }
      if constexpr (kOPlace == OPlace::own) release_q();
      if (kCarry && following.more()) {
        const Work next = work_of(following, group_, lq_, lk_);
        // What is skipped cannot be skipped here: this tile's last V is still in the ring.
        if (next.seen > 0 && next.seen == next.tiles) {
          if constexpr (kOPlace == OPlace::over_q) q_at_.advance();
          take_q(state);
          Rows rows = fresh_rows();
          soften_meanwhile<true>(state, rows, shrink, subtract, next, next.seen - 1);
          if constexpr (kOPlace == OPlace::over_q) q_at_.retreat();
          store(state, o_map, work);
          clear(state.output);
          state.rows = rows;
          take_probabilities(state, subtract);
          carried = true;
        }
      }
      if (!carried) {
        wait_v();
        issue_p_v<0, kSteps>(state);
        finish_p_v(state);
      }
    } else if (work.tiles > 0 && kOPlace == OPlace::own) {
      release_q();
    }
    if (!carried) store(state, o_map, work);
    return carried;
  }

  // Tile j's scores and what is to be subtracted from them (`ahead_held`: its probabilities too), while P V of
  // the tile before is under way.
  template <bool kMasked>
  __device__ __forceinline__ void soften_meanwhile(State& state, Rows& rows, float (&shrink)[2],
                                                   float (&subtract)[2], const Work& work, int j) {
    wait_k();
    await_turn();
    issue_q_k(state);
    wait_v();
    issue_p_v<0, kSteps>(state);
    end_turn();
    wait_products<1>();
    hold(state.scores);
    release_k();
    if (kMasked && j >= work.clean) mask_tile(state, work, j);
    refer<kMasked>(state.scores, rows, shrink, subtract, scale_log2_);
    if constexpr (kOverlap == Overlap::ahead_held) {
      exponentiate<0, kSteps>(state.scores, rows, subtract, scale_log2_);
      hold(state.scores);
      finish_first(rows.sum[0] + rows.sum[1]);
    }
    finish_p_v(state);
  }

  // The registers of the A operand are free again: P V has read them.
  __device__ __forceinline__ void take_probabilities(State& state, const float (&subtract)[2]) {
    if constexpr (kOverlap == Overlap::ahead_held)
      pack_steps<0, kSteps>(state.p, state.scores);
    else
      exponentiate_and_pack<0, kSteps>(state.p, state.scores, state.rows, subtract, scale_log2_);
  }

  // The same where products and softmax of a warpgroup take turns. Returns false: nothing is begun.
  __device__ __forceinline__ bool attend(State& state, const Work& work, const TensorMap& o_map) {
    bool pending = false;
    int j = work.seen - 1;
    for (; j >= work.clean; --j) step<true>(state, pending, work, j);
    for (; j >= 0; --j) step<false>(state, pending, work, j);
    if (pending) finish_p_v(state);
    if (work.tiles > 0 && kOPlace == OPlace::own) release_q();
    store(state, o_map, work);
    return false;
  }

  // `pending`: P V of the tile before is under way (chained).
  template <bool kMasked>
  __device__ __forceinline__ void step(State& state, bool& pending, const Work& work, int j) {
    float shrink[2], subtract[2];
    wait_k();
    await_turn();
    issue_q_k(state);
    wait_products<0>();
    end_turn();
    hold(state.scores);
    release_k();
    if constexpr (kOverlap == Overlap::chained) {
      hold(state.output);
      if (pending) release_v();
      pending = true;
    }
    if constexpr (kMasked) mask_tile(state, work, j);
    refer<kMasked>(state.scores, state.rows, shrink, subtract, scale_log2_);
    rescale(state.output, shrink);
    part<0>(state, subtract);
    if constexpr (kOverlap == Overlap::none) finish_p_v(state);
  }

  template <int kPart>
  __device__ __forceinline__ void part(State& state, const float (&subtract)[2]) {
    if constexpr (kPart < PV_PARTS) {
      constexpr int kFirst = kSteps * kPart / PV_PARTS;
      constexpr int kEnd = kSteps * (kPart + 1) / PV_PARTS;
      exponentiate_and_pack<kFirst, kEnd>(state.p, state.scores, state.rows, subtract, scale_log2_);
      if constexpr (kPart == 0) wait_v();
      issue_p_v<kFirst, kEnd>(state);
      part<kPart + 1>(state, subtract);
    }
  }

  // Divides by the row sums and sends the rows off, through shared memory in the layout of the maps.
  __device__ __forceinline__ void store(State& state, const TensorMap& o_map, const Work& work) {
    if (work.first_row < lq_) {
      const unsigned place = kOPlace == OPlace::own ? kO : q_at_.slot * kQBytes;
      const unsigned staging = base_ + place + group_ * 8192;
      // Over Q: all warps' products have read it. Own: the last store has.
      if (kOPlace == OPlace::own && leads()) wait_stores_read();
      sync_numbered(own_barrier(group_), kGroup);
      stage(state, staging);
      fence_async_proxy();
      sync_numbered(own_barrier(group_), kGroup);
      if (leads()) {
#pragma unroll
        for (int panel = 0; panel < kPanels; ++panel)
          store_box(o_map, staging + panel * kQPanel, panel * 64, work.first_row, work.tile.head,
                    work.tile.batch);
        commit_stores();
      }
    }
    if (work.tiles > 0 && kOPlace == OPlace::over_q) {
      if (leads()) wait_stores_read();
      sync_numbered(own_barrier(group_), kGroup);
      release_q();
    }
  }

  __device__ __forceinline__ void stage(const State& state, unsigned staging) {
    float inverse[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = state.rows.sum[h];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      inverse[h] = sum > 0.0f ? 1.0f / sum : 0.0f;  // no key seen: the row is 0
    }
    const unsigned row = staging + (warp() * 16 + lane_ % 16) * 128;
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 16; ++i) {  // 16 columns, two fragments
      const int chunk = i % 4 * 2 + lane_ / 16;
      const float* const f = state.output + 8 * i;
      store_matrices(row + i / 4 * kQPanel + ((chunk ^ lane_ % 8) << 4),
                     pack(f[0] * inverse[0], f[1] * inverse[0]),
                     pack(f[2] * inverse[1], f[3] * inverse[1]),
                     pack(f[4] * inverse[0], f[5] * inverse[0]),
                     pack(f[6] * inverse[1], f[7] * inverse[1]));
    }
  }

  unsigned base_;
  unsigned long long q_, k_, v_;
  int group_;
  int lane_;
  float scale_log2_;
  int lq_;
  int lk_;
  RingPlace<Q_STAGES> q_at_;
  Place k_at_, v_at_;
};

extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS)
    attention_wgmma(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                    const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap o_map,
                    int lq, int lk, int heads, int batches, float scale) {
  extern __shared__ __align__(1024) char memory[];
  const unsigned base = shared_address(memory);
  // Equal in all lanes, and known to be to the compiler.
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int lane = threadIdx.x % 32;
  const int rank = CLUSTER > 1 ? static_cast<int>(cluster_rank()) : 0;

  if (threadIdx.x == 0) make_barriers(base);
  if constexpr (CLUSTER > 1)
    sync_cluster();
  else
    __syncthreads();

  const Schedule schedule(lq, heads, batches, rank);
  if (warp < 4) {
    if constexpr (kShiftsRegisters) give_registers<kFewRegisters>();
    if (warp == 0 && lane == 0) produce_q_k(base, schedule, q_map, k_map, lq, lk, rank);
    if (warp == 1 && lane == 0) produce_v(base, schedule, v_map, lq, lk, rank);
  } else {
    if constexpr (kShiftsRegisters) take_registers<kManyRegisters>();
    Consumer(base, warp / 4 - 1, lane, scale * kLog2E, lq, lk).run(schedule, o_map);
  }
  // No block may go while another still copies into it or arrives at its barriers.
  if constexpr (CLUSTER > 1) sync_cluster();
}
