// From a warpgroup's scores of one tile of keys to their probabilities, the A operands of P V.
#pragma once

#include "mbarrier.cuh"
#include "wgmma.cuh"
#include "wgmma_products.cuh"
#include "wgmma_scales.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_softmax.cuh"
#include "wgmma_state.cuh"
#include "wgmma_work_tile.cuh"

class Probabilities : protected Products {
 public:
  __device__ __forceinline__ Probabilities(unsigned base, int group, int lane, const Scores& how,
                                           int rows, const Mask& mask, const Scales& scales,
                                           const Features& features)
      : Products(base, group, lane),
        how_(how),
        rows_(rows),
        mask_(mask),
        scales_(scales),
        features_(features) {}

 protected:
  // by_sum in e4m3, and how many of a row's tiles take their offsets from maxima then. With CAUSAL
  // the first tile may show a row a single key, and sums of the next one would pass the limit.
  static constexpr bool kSumsOfE4m3 = DTYPE_E4M3 && kRescale == Rescale::by_sum;
  static constexpr int kTilesByMaximum = CAUSAL ? 2 : 1;
  static_assert(!kSumsOfE4m3 || (kOverlap == Overlap::none && PV_PARTS == 1),
                "scores are computed again while nothing else is under way");

  // This thread's first row of `work`; its other one is 8 further on.
  __device__ __forceinline__ int own_row(const WorkTile& work) const {
    return work.first_row + warp() * 16 + lane_ / 4;
  }

  // Asks early for what tile j's scores and values are multiplied by.
  __device__ __forceinline__ void fetch_scales(ConsumerState& state, const WorkTile& work, int j) {
    if constexpr (DTYPE_E4M3) {
      state.k_unit = scales_.of_keys(work, j);
      state.next_v_unit = unit_with(scales_.of_values(work, j), state.v_unit, state.factors);
    }
  }
  __device__ __forceinline__ Factors factors(const ConsumerState& state) const {
#if DTYPE_E4M3
    return state.factors;
#else
    return {how_.factor};
#endif
  }

  // SOFTCAP, ALIBI and (e4m3) the scales' factors of tile j's products.
  __device__ __forceinline__ void score_mod_tile(ConsumerState& state, const WorkTile& work,
                                                 int j) {
#if DTYPE_E4M3
    for (int h = 0; h < 2; ++h) state.factors.rows[h] = state.q_unit[h] * state.k_unit;
#endif
    if constexpr (Scores::kHasMod) {
      float slopes[2] = {0.0f, 0.0f};
      if constexpr (ALIBI) {
#pragma unroll
        for (int h = 0; h < 2; ++h)
          slopes[h] = features_.alibi_slopes[head_of(work, own_row(work) + 8 * h)] * kLog2E;
      }
      apply_score_mod(state.scores, how_, slopes, factors(state), own_row(work), j * BLOCK_N,
                      lane_);
#if DTYPE_E4M3
      for (int h = 0; h < 2; ++h) state.factors.rows[h] = 1.0f;
#endif
    }
  }
  __device__ __forceinline__ bool needs_mask(const WorkTile& work, int j) const {
    return j >= work.clean.end || (WINDOW_LEFT && j < work.clean.first);
  }
  __device__ __forceinline__ void mask_tile(ConsumerState& state, const WorkTile& work, int j) {
    apply_mask(state.scores, mask_, own_row(work), j * BLOCK_N, lane_);
  }

  // Brings the output to the new row offsets and to the unit of the next V tile.
  __device__ __forceinline__ void rescale_output(ConsumerState& state, float (&shrink)[2]) {
    if (DTYPE_E4M3 && state.v_unit != state.next_v_unit) {
      const float change = state.v_unit * reciprocal_approx(state.next_v_unit);
      state.v_unit = state.next_v_unit;
      shrink[0] *= change;
      shrink[1] *= change;
    }
    rescale(state.output, shrink);
  }

  // The registers of the A operand are free again: P V has read them.
  __device__ __forceinline__ void take_probabilities(ConsumerState& state,
                                                     const float (&subtract)[2]) {
    if constexpr (kOverlap == Overlap::ahead_held)
      pack_steps<0, kSteps>(state.p, state.scores);
    else
      exponentiate_and_pack<0, kSteps>(state.p, state.scores, state.rows, subtract, factors(state));
  }

  // RESCALE by_sum: the steps from kFirst up to kEnd with the offsets there are, or with new ones.
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void take_checked_probabilities(ConsumerState& state) {
    Rows tile = {{state.rows.offset[0], state.rows.offset[1]}, {0.0f, 0.0f}};
    const float factor = how_.factor;
    const float subtract[2] = {tile.offset[0] * factor, tile.offset[1] * factor};
    exponentiate_and_pack<kFirst, kEnd>(state.p, state.scores, tile, subtract, factors(state));
    if (__any_sync(0xffffffffu, outgrown(tile.sum))) {
      if constexpr (kFirst > 0) {  // P V of the parts before is under way
        wait_products<0>();
        pin_registers(state.output);
      }
      float shrink[2], moved[2];
      update_row_max<true, kFirst, kEnd>(state.scores, state.rows, shrink, moved, factors(state));
      rescale(state.output, shrink);
      exponentiate_and_pack<kFirst, kEnd>(state.p, state.scores, state.rows, moved, factors(state));
    } else {
#pragma unroll
      for (int h = 0; h < 2; ++h) state.rows.sum[h] += tile.sum[h];
    }
  }

  // by_sum in e4m3, with the offsets there are. The probabilities take the registers of the scores,
  // there is no room for both: where a sum is too large the scores are computed again, by all four
  // warps, as a product is theirs together.
  __device__ __forceinline__ void take_probabilities_by_sum(ConsumerState& state,
                                                            const WorkTile& work, int j) {
    Rows tile = {{state.rows.offset[0], state.rows.offset[1]}, {0.0f, 0.0f}};
    float subtract[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) subtract[h] = tile.offset[h] - gain(factors(state));
    // The turn ends behind a quarter of the exponentials: sooner the warpgroups' exponentials meet,
    // later their products wait. The branch, or ptxas would put it behind all of them.
    constexpr int kInTurn = PING_PONG ? kSteps / 4 : 0;
    if constexpr (kInTurn > 0)
      exponentiate_and_pack<0, kInTurn>(state.p, state.scores, tile, subtract, factors(state));
    end_turn();
    if constexpr (PING_PONG) fence_by_branch(j);
    exponentiate_and_pack<kInTurn, kSteps>(state.p, state.scores, tile, subtract, factors(state));
    if (any_numbered(own_barrier(group_), kWarpgroupThreads, outgrown(tile.sum))) {
      issue_q_k(state);
      wait_products<0>();
      pin_registers(state.scores);
      score_mod_tile(state, work, j);
      take_probabilities_with_room(state);
    } else {
#pragma unroll
      for (int h = 0; h < 2; ++h) state.rows.sum[h] += tile.sum[h];
      float same[2] = {1.0f, 1.0f};
      if (state.v_unit != state.next_v_unit) rescale_output(state, same);
    }
    release_k();
  }

  // The same with new offsets, from the maxima and from the sums.
  __device__ __forceinline__ void take_probabilities_with_room(ConsumerState& state) {
    float shrink[2], subtract[2];
    update_row_max<true>(state.scores, state.rows, shrink, subtract, factors(state));
    exponentiate_with_room(state.scores, state.rows, shrink, subtract, factors(state));
    pack_steps<0, kSteps>(state.p, state.scores);
    rescale_output(state, shrink);
  }

  Scores how_;
  int rows_;
  Mask mask_;
  Scales scales_;
  Features features_;
};
