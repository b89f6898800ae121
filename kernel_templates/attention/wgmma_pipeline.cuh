// A consumer's side of the pipeline: waiting for full slots, giving them back, taking turns to
// issue products.
#pragma once

#include "mbarrier.cuh"
#include "wgmma_shared.cuh"

class Pipeline {
 protected:
  __device__ __forceinline__ Pipeline(unsigned base, int group, int lane)
      : base_(base), group_(group), lane_(lane) {}

  __device__ __forceinline__ int warp() const { return threadIdx.x / 32 % 4; }
  __device__ __forceinline__ bool leads() const { return warp() == 0 && lane_ == 0; }

  // The warp has read what `barrier` guards, here and, if it is shared, in the cluster's other
  // blocks.
  __device__ __forceinline__ void release(int barrier, bool shared) {
    if (CLUSTER > 1 && shared) {
      if (lane_ < CLUSTER) arrive_in_cluster(base_ + barrier, lane_);
    } else if (lane_ == 0) {
      arrive(base_ + barrier);
    }
  }
  __device__ __forceinline__ void wait_q() {
    wait_for(base_ + kQFull + 8 * q_at_.slot, q_at_.parity);
  }
  __device__ __forceinline__ void wait_k() {
    wait_for(base_ + kKFull + 8 * k_at_.slot, k_at_.parity);
  }
  __device__ __forceinline__ void wait_v() {
    wait_for(base_ + kVFull + 8 * v_at_.slot, v_at_.parity);
  }
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
    if constexpr (PING_PONG) sync_numbered(turn_barrier(group_), 2 * kWarpgroupThreads);
  }
  __device__ __forceinline__ void end_turn() {
    if constexpr (PING_PONG)
      arrive_numbered(turn_barrier(group_ == CONSUMERS - 1 ? 0 : group_ + 1),
                      2 * kWarpgroupThreads);
  }

  unsigned base_;
  int group_;
  int lane_;
  PipelineState<Q_STAGES> q_at_;
  KvPipelineState k_at_, v_at_;
};
