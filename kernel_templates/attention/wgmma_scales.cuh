// e4m3: what the bytes of Q, K and V are multiplied by. score = q_scale * k_scale * qk / sqrt(D),
// folded into the exp2 FMA. O is kept in a unit, and rescale_output() converts between units. That
// is the latest V tile's scale, or with V_POWERS_OF_TWO the largest so far: a tile whose scale is
// 2^-k of it has 2^-k in its probabilities, which rounds none of them as long as they stay above
// 2^-6, and O is left alone.
#pragma once

#include "wgmma_tile_scheduler.cuh"
#include "wgmma_work_tile.cuh"

// What makes an exponent of two of a score in a thread's row h.
struct Factors {
#if DTYPE_E4M3
  float rows[2];
  // The 2^-k of V_POWERS_OF_TWO as an exponent, k, and what makes sums of the probabilities whole
  // again.
  float smaller = 0.0f;
  float whole = 1.0f;
  __device__ __forceinline__ float of(int h) const { return rows[h]; }
#else
  float all;
  __device__ __forceinline__ float of(int) const { return all; }
#endif
};

// Before any tile. (Of V_POWERS_OF_TWO below every scale.)
constexpr float kNoUnit = V_POWERS_OF_TWO ? 1.17549435e-38f : 1.0f;

// The output's unit with a tile of V of this scale, `unit` being the one before.
__device__ __forceinline__ float unit_with(float scale, float unit, Factors& factors) {
#if V_POWERS_OF_TWO
  const float larger = fmaxf(unit, scale);
  // A tile of less than 2^-64 of the unit adds nothing.
  const int smaller = min((__float_as_int(larger) - __float_as_int(scale)) >> 23, 64);
  factors.smaller = static_cast<float>(smaller);
  factors.whole = __int_as_float((127 + smaller) << 23);
  return larger;
#else
  return scale;
#endif
}

// A multiple of BLOCK_N, or all keys of a head (the manifest sees to it): a tile of keys has one
// scale.
constexpr int kScaleRows = SCALE_ROWS > 0 ? SCALE_ROWS : 1;

class Scales {
 public:
  __device__ __forceinline__ Scales(const float* q, const float* k, const float* v, int heads,
                                    int lq, int lk)
      : q_(q), k_(k), v_(v), heads_(heads), q_blocks_(blocks(lq)), key_blocks_(blocks(lk)) {}

  __device__ __forceinline__ float of_query(const WorkTile& work, int row) const {
    const int head = head_of(work, row) + work.tile.batch * heads_;
    return __ldg(q_ + head * q_blocks_ + position_of(row) / kScaleRows);
  }
  __device__ __forceinline__ float of_keys(const WorkTile& work, int j) const {
    return __ldg(k_ + key_block(work, j));
  }
  __device__ __forceinline__ float of_values(const WorkTile& work, int j) const {
    return __ldg(v_ + key_block(work, j));
  }

 private:
  __device__ __forceinline__ static int blocks(int rows) {
    return (rows + kScaleRows - 1) / kScaleRows;
  }
  __device__ __forceinline__ int key_block(const WorkTile& work, int j) const {
    const int head = work.tile.batch * (heads_ / KV_GROUP) + kv_head_of(work.tile.head);
    return head * key_blocks_ + j * BLOCK_N / kScaleRows;
  }

  const float* q_;
  const float* k_;
  const float* v_;
  int heads_;  // of Q
  int q_blocks_;
  int key_blocks_;
};
