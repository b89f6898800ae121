// A warpgroup that computes: 64 query rows at a time, from Q K^T to the output.
#pragma once

#include "mbarrier.cuh"
#include "mma.cuh"
#include "tensor_copy.cuh"
#include "wgmma_combine_splits.cuh"
#include "wgmma_epilogue.cuh"
#include "wgmma_probabilities.cuh"
#include "wgmma_scales.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_softmax.cuh"
#include "wgmma_state.cuh"
#include "wgmma_tile_scheduler.cuh"
#include "wgmma_work_tile.cuh"

// One warpgroup of consumers.
class Consumer : Probabilities {
 public:
  using Probabilities::Probabilities;

  __device__ __forceinline__ void run(TileScheduler scheduler, const TensorMap& o_map) {
    if (PING_PONG && group_ == CONSUMERS - 1)
      arrive_numbered(turn_barrier(0), 2 * kWarpgroupThreads);
    ConsumerState state;
    bool begun = false;
    while (scheduler.more()) {
      const WorkTile work = work_tile(scheduler, row_group(), key_group(), rows_, mask_);
      scheduler.next();
      if (!begun) {
        state.rows = fresh_rows();
        clear(state.output);
        state.v_unit = kNoUnit;
        load_q(state, work);
        for (int j = end_of_share(work.tiles, key_group()); j > work.seen; j -= KEY_GROUPS)
          drain_tile();  // masked for all 64 rows
      }
      begun =
          kAhead ? attend_ahead(state, work, scheduler, begun, o_map) : attend(state, work, o_map);
    }
    if (PING_PONG && group_ == 0) sync_numbered(turn_barrier(0), 2 * kWarpgroupThreads);
    if (leads()) wait_stores_read();
  }

 private:
  // Once Q is there.
  __device__ __forceinline__ void load_q(ConsumerState& state, const WorkTile& work) {
    if constexpr (DTYPE_E4M3) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        state.q_unit[h] =
            how_.factor * scales_.of_query(work, max(min(own_row(work) + 8 * h, rows_ - 1), 0));
    }
    wait_q();
    if constexpr (kQPlace == QPlace::in_registers) {
      const unsigned row =
          base_ + q_at_.slot * kQBytes + (row_group() * 64 + warp() * 16 + lane_ % 16) * 128;
#pragma unroll
      for (int step = 0; step < kDepths; ++step) {
        const int chunk = step % 4 * 2 + lane_ / 16;
        ldmatrix_x4(state.q[step], row + step / 4 * kQPanel + ((chunk ^ lane_ % 8) << 4));
      }
      __syncwarp();  // one lane gives Q's place back
    }
  }

  // All key tiles of `work`, from the last to the first. `begun`: the first one's probabilities are
  // there. Returns whether those of the next piece of work are.
  __device__ __forceinline__ bool attend_ahead(ConsumerState& state, const WorkTile& work,
                                               const TileScheduler& following, bool begun,
                                               const TensorMap& o_map) {
    float shrink[2], subtract[2];
    bool carried = false;
    if (work.seen > work.tiles.first) {
      int j = work.seen - 1;
      if (!begun) {
        fetch_scales(state, work, j);
        state.v_unit = state.next_v_unit;
        wait_k();
        await_turn();
        issue_q_k(state);
        end_turn();
        wait_products<0>();
        pin_registers(state.scores);
        release_k();
        score_mod_tile(state, work, j);
        if (needs_mask(work, j)) mask_tile(state, work, j);
        update_row_max<true>(state.scores, state.rows, shrink, subtract, factors(state));
        exponentiate_and_pack<0, kSteps>(state.p, state.scores, state.rows, subtract,
                                         factors(state));
      }
      for (j -= KEY_GROUPS; j >= work.tiles.first; j -= KEY_GROUPS) {
        if constexpr (kRescale == Rescale::by_sum) {
          scores_overlapped<true>(state, work, j);
          finish_p_v(state);
          take_checked_probabilities<0, kSteps>(state);
          continue;
        }
        if (needs_mask(work, j))
          softmax_overlapped<true>(state, state.rows, shrink, subtract, work, j);
        else
          softmax_overlapped<false>(state, state.rows, shrink, subtract, work, j);
        rescale_output(state, shrink);
        take_probabilities(state, subtract);
      }
      if constexpr (kOPlace == OPlace::own) release_q();
      if (kCarry && following.more()) {
        const WorkTile next = work_tile(following, row_group(), key_group(), rows_, mask_);
        // What is skipped cannot be skipped here: this tile's last V is still in the ring.
        if (next.seen > next.tiles.first && next.seen == next.tiles.end) {
          if constexpr (kOPlace == OPlace::over_q) q_at_.advance();
          load_q(state, next);
          Rows rows = fresh_rows();
          const float unit = state.v_unit;  // of what is stored below
          state.v_unit = kNoUnit;
          softmax_overlapped<true>(state, rows, shrink, subtract, next, next.seen - 1);
          state.v_unit = unit;
          if constexpr (kOPlace == OPlace::over_q) q_at_.retreat();
          store(state, o_map, work);
          clear(state.output);
          state.v_unit = state.next_v_unit;
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
    } else if (kOPlace == OPlace::own) {
      release_q();
    }
    if (!carried) store(state, o_map, work);
    return carried;
  }

  // Issues QK(j), then PV(j+1), which goes on. Returns with tile j's scores.
  template <bool kMasked>
  __device__ __forceinline__ void scores_overlapped(ConsumerState& state, const WorkTile& work,
                                                    int j) {
    fetch_scales(state, work, j);
    wait_k();
    await_turn();
    issue_q_k(state);
    wait_v();
    issue_p_v<0, kSteps>(state);
    end_turn();
    wait_products<1>();
    pin_registers(state.scores);
    release_k();
    score_mod_tile(state, work, j);
    if (kMasked && needs_mask(work, j)) mask_tile(state, work, j);
  }

  // The same, and while PV runs: row max (`ahead`), exponentials (`ahead_held`) of tile j. Returns
  // with PV complete.
  template <bool kMasked>
  __device__ __forceinline__ void softmax_overlapped(ConsumerState& state, Rows& rows,
                                                     float (&shrink)[2], float (&subtract)[2],
                                                     const WorkTile& work, int j) {
    scores_overlapped<kMasked>(state, work, j);
    update_row_max<kMasked>(state.scores, rows, shrink, subtract, factors(state));
    if constexpr (kOverlap == Overlap::ahead_held) {
      exponentiate<0, kSteps>(state.scores, rows, subtract, factors(state));
      pin_registers(state.scores);
      fence_by_branch(rows.sum[0] + rows.sum[1]);
    }
    finish_p_v(state);
  }

  // The same where a warpgroup's products and softmax alternate. Returns false: nothing is begun.
  __device__ __forceinline__ bool attend(ConsumerState& state, const WorkTile& work,
                                         const TensorMap& o_map) {
    bool pending = false;
    int j = work.seen - 1;
    const int by_maximum = max(j - (kTilesByMaximum - 1) * KEY_GROUPS, work.tiles.first);
    const int plain_from = kSumsOfE4m3 ? min(work.clean.end, by_maximum) : work.clean.end;
    for (; j >= plain_from; j -= KEY_GROUPS) step<true>(state, pending, work, j);
    for (; j >= work.clean.first; j -= KEY_GROUPS) step<false>(state, pending, work, j);
    for (; WINDOW_LEFT && j >= work.tiles.first; j -= KEY_GROUPS)
      step<true>(state, pending, work, j);
    if (pending) finish_p_v(state);
    if constexpr (kOPlace == OPlace::own) release_q();
    store(state, o_map, work);
    return false;
  }

  // kMasked: some rows do not see all keys, or (by_sum in e4m3) offsets come from maxima.
  // `pending`: P V of the tile before is under way (chained).
  template <bool kMasked>
  __device__ __forceinline__ void step(ConsumerState& state, bool& pending, const WorkTile& work,
                                       int j) {
    constexpr bool kMayRepeat = kSumsOfE4m3 && !kMasked;  // Q K^T: K stays, and the turn
    float shrink[2], subtract[2];
    fetch_scales(state, work, j);
    wait_k();
    await_turn();
    issue_q_k(state);
    wait_products<0>();
    if constexpr (!kMayRepeat) end_turn();
    pin_registers(state.scores);
    if constexpr (!kMayRepeat) release_k();
    if constexpr (kOverlap == Overlap::chained) {
      pin_registers(state.output);
      if (pending) release_v();
      pending = true;
    }
    score_mod_tile(state, work, j);
    if (kMasked && (!kSumsOfE4m3 || needs_mask(work, j))) mask_tile(state, work, j);
    if constexpr (kMayRepeat)
      take_probabilities_by_sum(state, work, j);
    else if constexpr (kSumsOfE4m3)
      take_probabilities_with_room(state);
    else if constexpr (kRescale != Rescale::by_sum)
      update_row_max<kMasked>(state.scores, state.rows, shrink, subtract, factors(state));
    part<0>(state, shrink, subtract);
    if constexpr (kOverlap == Overlap::none) finish_p_v(state);
  }

  template <int kPart>
  __device__ __forceinline__ void part(ConsumerState& state, float (&shrink)[2],
                                       const float (&subtract)[2]) {
    if constexpr (kPart < PV_PARTS) {
      constexpr int kFirst = kSteps * kPart / PV_PARTS;
      constexpr int kEnd = kSteps * (kPart + 1) / PV_PARTS;
      if constexpr (kRescale == Rescale::by_sum && !kSumsOfE4m3)
        take_checked_probabilities<kFirst, kEnd>(state);
      else if constexpr (!kSumsOfE4m3)
        exponentiate_and_pack<kFirst, kEnd>(state.p, state.scores, state.rows, subtract,
                                            factors(state));
      if constexpr (kPart == 0) {
        // A branch: in front of the exponentials it would keep the conversions from their gaps.
        if constexpr (kRescale != Rescale::by_sum) rescale_output(state, shrink);
        wait_v();
      }
      issue_p_v<kFirst, kEnd>(state);
      part<kPart + 1>(state, shrink, subtract);
    }
  }

  // Divides by the row sums and sends the rows off, through shared memory in the layout of the
  // maps.
  __device__ __forceinline__ void store(ConsumerState& state, const TensorMap& o_map,
                                        const WorkTile& work) {
    if constexpr (KEY_GROUPS > 1) take_missing_turn(work.tiles.end - work.tiles.first);
    if constexpr (kSplit) combine_splits(state, base_, key_group(), factors(state));
    if (work.has_rows(rows_) && key_group() == 0 && (SPLIT_KV == 1 || cluster_rank() == 0)) {
      const unsigned place = kOPlace == OPlace::own ? kO : q_at_.slot * kQBytes;
      const unsigned staging = base_ + place + row_group() * 8192;
      // Over Q: all warps' products have read it. Own: the store of the tile before has.
      if constexpr (PERSISTENT || kOPlace == OPlace::over_q) {
        if (kOPlace == OPlace::own && leads()) wait_stores_read();
        sync_numbered(own_barrier(group_), kWarpgroupThreads);
      }
      stage(state, work, staging);
      fence_async_proxy();
      sync_numbered(own_barrier(group_), kWarpgroupThreads);
      if (leads()) {
#pragma unroll
        for (int panel = 0; panel < kOPanels; ++panel)
          store_rows(o_map, staging + panel * kQPanel, panel * 64, work);
        commit_stores();
      }
    }
    if constexpr (kOPlace == OPlace::over_q) {
      if (leads()) wait_stores_read();
      sync_numbered(own_barrier(group_), kWarpgroupThreads);
      release_q();
    }
  }

  __device__ __forceinline__ void store_lse(const WorkTile& work, int row, float value) {
    const long long head =
        static_cast<long long>(work.tile.batch) * features_.heads + head_of(work, row);
    if (lane_ % 4 == 0 && row < rows_)
      features_.lse[head * features_.lq + position_of(row)] = value;
  }

  __device__ __forceinline__ void stage(const ConsumerState& state, const WorkTile& work,
                                        unsigned staging) {
    float inverse[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = state.rows.sum[h];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      // No key seen: the row is 0. The polynomial makes a little more than 0 of -inf.
      const bool seen = EXP_POLYNOMIAL > 0 ? state.rows.offset[h] != minus_infinity() : sum > 0.0f;
      inverse[h] = seen ? reciprocal_approx(sum) : 0.0f;
      if constexpr (DTYPE_E4M3) inverse[h] *= state.v_unit;
      if constexpr (WITH_LSE) {
        const float offset = state.rows.offset[h] * offset_factor(factors(state), h);
        store_lse(work, own_row(work) + 8 * h, row_lse(offset - kGain, sum));
      }
    }
    stage_rows(state.output, inverse, staging, warp(), lane_);
  }
};
