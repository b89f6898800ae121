// How keys come into the rings of decode.cu. A warp copies the keys that it reads, all by itself: so no
// warp waits for another before the end.
//
// Commit order K0 V0 K1 V1 ..., STAGES of each under way. `await()` is for the oldest copy that is not
// yet waited for; what takes its place in the ring is begun once all lanes have read it.
#pragma once

#include "decode_state.cuh"

class WarpCopies {
 public:
  // `k`, `v`: the first row of the head, `stride` elements from one key to the next. The warp's keys
  // of tile t are those from t * kBlockKeys + first_key on.
  __device__ __forceinline__ WarpCopies(unsigned rings, const Element* k, const Element* v,
                                        int stride, int first_key, int lk, int first_tile,
                                        int end_tile)
      : rings_(rings),
        k_(k),
        v_(v),
        stride_(stride),
        first_key_(first_key),
        lk_(lk),
        first_tile_(first_tile),
        end_tile_(end_tile) {}

  __device__ __forceinline__ unsigned k_at(int tile) const {
    return rings_ + (tile - first_tile_) % STAGES * kStageBytes;
  }
  __device__ __forceinline__ unsigned v_at(int tile) const { return k_at(tile) + kRingBytes; }
  __device__ __forceinline__ int first_key(int tile) const {
    return tile * kBlockKeys + first_key_;
  }

  __device__ __forceinline__ void begin_k(int tile) { begin(k_, k_at(tile), tile); }
  __device__ __forceinline__ void begin_v(int tile) { begin(v_, v_at(tile), tile); }
  __device__ __forceinline__ void await() {
    wait_copies<2 * STAGES - 1>();
    __syncwarp();  // every lane waits for its own copies
  }

 private:
  // An empty group is committed too: so the number that may still be under way does not depend on
  // the tile.
  __device__ __forceinline__ void begin(const Element* from, unsigned to, int tile) {
    if (tile < end_tile_)
      Shared::load<WARP_KEYS, 32, kHint>(to, from, stride_, first_key(tile), lk_, threadIdx.x % 32);
    commit_copies();
  }

  unsigned rings_;
  const Element* k_;
  const Element* v_;
  int stride_;
  int first_key_;
  int lk_;
  int first_tile_;
  int end_tile_;
};
