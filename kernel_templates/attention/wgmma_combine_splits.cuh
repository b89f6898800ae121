// Warpgroups that take a part of the keys each, for the same rows of the output: those of a
// cluster's blocks (SPLIT_KV) or those of one block (KEY_GROUPS). At the end each one but the first
// leaves its sums in its block's shared memory, where the rings were, and the first adds them to
// its own.
//
// With SPLIT_KV every thread of the cluster passes two cluster barriers: after the sums are
// written, and before a block may go.
#pragma once

#include "math.cuh"
#include "mbarrier.cuh"
#include "shared.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_softmax.cuh"
#include "wgmma_state.cuh"

constexpr bool kSplit = SPLIT_KV > 1 || KEY_GROUPS > 1;
static_assert(SPLIT_KV == 1 || KEY_GROUPS == 1, "one way to share keys");
constexpr int kCombineThreads = CONSUMERS * kWarpgroupThreads;
constexpr int kRowThreads = kRowGroups * kWarpgroupThreads;  // of one key group
// Who leaves sums: all consumers of a block, or all but the first key group's.
constexpr int kLeaving = kCombineThreads - (KEY_GROUPS > 1 ? kRowThreads : 0);
// 16 bytes of each of these threads in turn: the output's, then the rows'.
constexpr int kPartials = kK;
static_assert(!kSplit || (kOutputs / 4 + 2) * 16 * kLeaving <= kQFull - kPartials,
              "the sums take the place of the rings");

// Where the sums lie that a thread leaves, by its number among those that do.
struct PartialSums {
  unsigned first;

  __device__ __forceinline__ PartialSums(unsigned base, int thread)
      : first(base + kPartials + thread * 16) {}
  __device__ __forceinline__ unsigned at(int i) const { return first + i * 16 * kLeaving; }
};

// No warpgroup may still read the rings.
__device__ __forceinline__ void write_partials(const ConsumerState& state,
                                               const PartialSums& place) {
#pragma unroll
  for (int i = 0; i < kOutputs / 4; ++i)
    store_floats(place.at(i), state.output[4 * i], state.output[4 * i + 1], state.output[4 * i + 2],
                 state.output[4 * i + 3]);
  store_floats(place.at(kOutputs / 4), state.rows.offset[0], state.rows.offset[1],
               state.rows.sum[0], state.rows.sum[1]);
  if constexpr (DTYPE_E4M3)
    store_floats(place.at(kOutputs / 4 + 1), state.v_unit, 0.0f, 0.0f, 0.0f);
}

// From this block, or with SPLIT_KV from block `rank` of the cluster.
__device__ __forceinline__ void load_partial(unsigned rank, unsigned address, float (&values)[4]) {
  if constexpr (SPLIT_KV > 1)
    load_floats_of(rank, address, values);
  else
    load_floats(address, values);
}

// Those sums to this thread's.
__device__ __forceinline__ void add_partials(ConsumerState& state, const PartialSums& place,
                                             unsigned rank, const Factors& factors) {
  float theirs[4], unit[4];
  load_partial(rank, place.at(kOutputs / 4), theirs);
  if constexpr (DTYPE_E4M3) load_partial(rank, place.at(kOutputs / 4 + 1), unit);
  float keep[2], take[2];
  float mine_in_both = 1.0f, theirs_in_both = 1.0f;
  if constexpr (DTYPE_E4M3) {
    const float larger = fmaxf(state.v_unit, unit[0]);
    mine_in_both = state.v_unit * reciprocal_approx(larger);
    theirs_in_both = unit[0] * reciprocal_approx(larger);
    state.v_unit = larger;
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float factor = offset_factor(factors, h);
    const float before = state.rows.offset[h];
    const float now = fmaxf(before, theirs[h]);
    // (-inf) - (-inf) would be NaN: neither has seen a key.
    const float subtract = now == minus_infinity() ? 0.0f : now * factor;
    keep[h] = exp2_approx(before * factor - subtract);
    take[h] = exp2_approx(theirs[h] * factor - subtract);
    state.rows.offset[h] = now;
    state.rows.sum[h] = state.rows.sum[h] * keep[h] + theirs[2 + h] * take[h];
    keep[h] *= mine_in_both;
    take[h] *= theirs_in_both;
  }
#pragma unroll
  for (int i = 0; i < kOutputs / 4; ++i) {
    float part[4];
    load_partial(rank, place.at(i), part);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& output = state.output[4 * i + e];
      output = output * keep[e / 2] + part[e] * take[e / 2];
    }
  }
}

// All consumers of all blocks; afterwards the first block's first key group has everything.
__device__ __forceinline__ void combine_splits(ConsumerState& state, unsigned base, int key_group,
                                               const Factors& factors) {
  const int thread = threadIdx.x - kWarpgroupThreads;
  sync_numbered(combine_barrier(), kCombineThreads);
  if constexpr (SPLIT_KV > 1) {
    const unsigned rank = cluster_rank();
    if (rank != 0) write_partials(state, PartialSums(base, thread));
    sync_cluster();
    if (rank == 0) {
#pragma unroll 1
      for (unsigned other = 1; other < SPLIT_KV; ++other)
        add_partials(state, PartialSums(base, thread), other, factors);
    }
  } else if (key_group != 0) {
    write_partials(state, PartialSums(base, thread - kRowThreads));
    arrive_numbered(combine_barrier(), kCombineThreads);
  } else {
    sync_numbered(combine_barrier(), kCombineThreads);
#pragma unroll 1
    for (int other = 0; other < KEY_GROUPS - 1; ++other)
      add_partials(state, PartialSums(base, thread + other * kRowThreads), 0, factors);
  }
}
