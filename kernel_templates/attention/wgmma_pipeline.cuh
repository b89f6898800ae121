// A consumer's side of the pipeline: waiting for full slots, giving them back, taking turns to
// issue products.
#pragma once

#include "mbarrier.cuh"
#include "wgmma_shared.cuh"

class Pipeline {
 protected:
  __device__ __forceinline__ Pipeline(unsigned base, int group, int lane)
      : base_(base),
        group_(group),
        lane_(lane),
        first_lane_(__shfl_sync(0xffffffffu, lane, lane) == 0) {}

  __device__ __forceinline__ int row_group() const { return row_group_of(group_); }
  // Which share of its rows' tiles of keys.
  __device__ __forceinline__ int key_group() const {
    return KEY_GROUPS == 1 ? 0 : group_ / kRowGroups;
  }

  __device__ __forceinline__ int warp() const { return threadIdx.x / 32 % 4; }
  __device__ __forceinline__ bool leads() const { return warp() == 0 && lane_ == 0; }
  __device__ __forceinline__ unsigned slot(const PipelineState<STAGES / KEY_GROUPS>& at) const {
    return at.slot * KEY_GROUPS + key_group();
  }

  // The warp has read what `barrier` guards, here and, if it is shared, in the cluster's other
  // blocks.
  __device__ __forceinline__ void release(int barrier, bool shared) {
    if (CLUSTER > 1 && shared) {
      if (lane_ < CLUSTER) arrive_in_cluster(base_ + barrier, lane_);
    } else if (first_lane_) {
      arrive(base_ + barrier);
    }
  }
  __device__ __forceinline__ void wait_q() {
    wait_for(base_ + kQFull + 8 * q_at_.slot, q_at_.parity);
  }
  __device__ __forceinline__ void wait_k() {
    wait_for(base_ + kKFull + 8 * slot(k_at_), k_at_.parity);
  }
  __device__ __forceinline__ void wait_v() {
    wait_for(base_ + kVFull + 8 * slot(v_at()), v_at().parity);
  }
  __device__ __forceinline__ void release_q() {
    release(kQEmpty + 8 * q_at_.slot, false);
    q_at_.advance();
  }
  __device__ __forceinline__ void release_k() {
    release(kKEmpty + 8 * slot(k_at_), true);
    if constexpr (!kTileByTile) k_at_.advance();
  }
  __device__ __forceinline__ void release_v() {
    release(kVEmpty + 8 * slot(v_at()), true);
    v_at().advance();
  }

  __device__ __forceinline__ void await_turn() {
    if constexpr (PING_PONG) sync_numbered(turn_barrier(group_), 2 * kWarpgroupThreads);
  }
  __device__ __forceinline__ void end_turn() {
    if constexpr (PING_PONG)
      arrive_numbered(turn_barrier(group_ == CONSUMERS - 1 ? 0 : group_ + 1),
                      2 * kWarpgroupThreads);
  }

  // A tile that is not looked at. Alternates K and V: draining one ring ahead of the other could
  // deadlock against a warpgroup doing the reverse.
  __device__ __forceinline__ void drain_tile() {
    wait_k();
    release_k();
    await_turn();
    end_turn();
    wait_v();
    release_v();
  }
  // Turns go around, also where this key group has one of `tiles` less than another.
  __device__ __forceinline__ void take_missing_turn(int tiles) {
    const int over = tiles % KEY_GROUPS;
    if (over != 0 && key_group() >= over) {
      await_turn();
      end_turn();
    }
  }

  unsigned base_;
  int group_;
  int lane_;
  // From a shuffle, or ptxas would read the thread's number again with every tile.
  bool first_lane_;
  PipelineState<Q_STAGES> q_at_;
  // In this key group's share of the rings.
  PipelineState<STAGES / KEY_GROUPS> k_at_, v_at_;

 private:
  // Both of a tile are given back before the next tile's are waited for: one place tells both.
  static constexpr bool kTileByTile = kOverlap == Overlap::none;

 protected:
  __device__ __forceinline__ PipelineState<STAGES / KEY_GROUPS>& v_at() {
    return kTileByTile ? k_at_ : v_at_;
  }
};
