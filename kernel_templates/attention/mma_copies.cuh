// How tiles of keys come into the rings of mma.cu: `begin_k(tile)` starts to bring one,
// `await_k(tile, part)` waits for it (or a part), `end_k(tile)` says that this warp has read it;
// the same of V. A tile past the end is none: it is begun all the same. Tiles are numbered by their
// places in the walk.
#pragma once

#include "heads.cuh"
#include "mma_state.cuh"

// MASKED_TILES by_part: parts that no row of the block sees do not come. Of a block with rows of both
// ends few are such, and it takes longer to ask.
constexpr bool kSomePartsOnly = kMaskedTiles == MaskedTiles::by_part && !kBothEnds;

// Which tiles a block walks over, and where they lie.
struct Walk {
  int first_tile;
  int end_tile;
  unsigned base;
  int end_key;  // kSomePartsOnly: keys from here on need not come

  // The first key of the tile that comes at place `tile`.
  __device__ __forceinline__ int first_key(int tile) const {
    return (kKvOrder == KvOrder::forwards ? tile : first_tile + end_tile - 1 - tile) * BLOCK_N;
  }
  // How many of its parts come.
  __device__ __forceinline__ int parts_of(int tile) const {
    if (!kSomePartsOnly) return K_PARTS;
    return parts_up_to(end_key - first_key(tile));
  }
  __device__ __forceinline__ int slot(int tile) const { return (tile - first_tile) % STAGES; }
  __device__ __forceinline__ unsigned k_at(int tile) const {
    return base + kKStart + slot(tile) * kTileBytes;
  }
  __device__ __forceinline__ unsigned v_at(int tile) const {
    return base + kVStart + slot(tile) * kTileBytes;
  }
};

#if TENSOR_COPY

#include "mbarrier.cuh"
#include "tensor_copy.cuh"

constexpr int kKFull = kBarriersStart;
constexpr int kVFull = kKFull + 8 * STAGES * K_PARTS;
constexpr int kKEmpty = kVFull + 8 * STAGES;
constexpr int kVEmpty = kKEmpty + 8 * STAGES;
constexpr int kFullBarriers = STAGES * (K_PARTS + 1);
constexpr int kBarriers = kFullBarriers + 2 * STAGES;
static_assert(kKFull + 8 * kBarriers <= kJoinStart, "the barriers of up to 4 parts of K fit");

// By the copy engine, which one thread asks. A tile of K comes in K_PARTS parts with a barrier
// each, so that products begin before the whole of it is there; a part has keys of every warp.
class Copies : public Walk {
 public:
  // What needs nothing that has to be read first.
  __device__ __forceinline__ static void prepare(unsigned base, const TensorMap& k,
                                                 const TensorMap& v) {
    ask([&] {
      prefetch_map(k);
      prefetch_map(v);
      make_barriers(base);
    });
  }
  __device__ __forceinline__ Copies(const Walk& walk, const TensorMap& k, const TensorMap& v,
                                    int head, int batch)
      : Walk(walk), k_(k), v_(v), head_(head), batch_(batch) {}

  // The first tiles, as many as there is place for.
  __device__ __forceinline__ void begin_first() {
#pragma unroll
    for (int ahead = 0; ahead < STAGES; ++ahead) {
      begin_k(first_tile + ahead);
      begin_v(first_tile + ahead);
    }
  }
  // For Q and for barriers that are ready. With both_ends each group of rows has its own Q: so that
  // the other one need not wait for the thread that asks, barriers are waited for before it does.
  __device__ __forceinline__ static void await_barriers() {
    if constexpr (kBothEnds) __syncthreads();
  }
  __device__ __forceinline__ static void await_q(int group) {
    wait_copies<0>();
    if constexpr (kBothEnds)
      sync_numbered(1 + group, kGroupThreads);
    else
      __syncthreads();
  }

  // Once all warps have read all tiles: the walk begins anew.
  __device__ __forceinline__ void restart() {
    ask([&] {
#pragma unroll
      for (int barrier = 0; barrier < kBarriers; ++barrier)
        invalidate_mbarrier(base + kKFull + 8 * barrier);
      make_barriers(base);
    });
    __syncthreads();
  }

  // The thread that asks may wait for a place; the products that follow want its whole warp.
  __device__ __forceinline__ void begin_k(int tile) {
    if (tile < end_tile) ask([&] { ask_for_k(tile); });
  }
  __device__ __forceinline__ void begin_v(int tile) {
    if (tile < end_tile) ask([&] { ask_for_v(tile); });
  }
  __device__ __forceinline__ void await_k(int tile, int part) const {
    wait_for(k_full(slot(tile), part), parity(tile));
  }
  __device__ __forceinline__ void await_v(int tile) const {
    wait_for(v_full(slot(tile)), parity(tile));
  }
  // All parts have to be there before others take their place, or the block ends. Where parts come
  // that no warp may see, the warp that asks waits for those behind the kSeen that it has seen.
  template <int kSeen>
  __device__ __forceinline__ void await_rest_of_k(int tile) const {
    if constexpr (kBothEnds && kSeen < K_PARTS) {
      if (threadIdx.x >= 32) return;
#pragma unroll
      for (int part = kSeen; part < K_PARTS; ++part) await_k(tile, part);
    }
  }
  __device__ __forceinline__ void end_k(int tile, int lane) { end(kKEmpty, tile, lane); }
  __device__ __forceinline__ void end_v(int tile, int lane) { end(kVEmpty, tile, lane); }

 private:
  // In one thread, of the first warp. Chosen in any other way than by an election, the compiler
  // makes a loop over lanes of each copy.
  template <typename Act>
  __device__ __forceinline__ static void ask(const Act& act) {
    if (threadIdx.x >= 32) return;
    if (is_elected()) act();
    __syncwarp();
  }
  // By one thread: 32 lanes, a barrier each, take 600 clocks longer on an H200.
  __device__ __forceinline__ static void make_barriers(unsigned base) {
#pragma unroll
    for (int barrier = 0; barrier < kBarriers; ++barrier)
      init_mbarrier(base + kKFull + 8 * barrier, barrier < kFullBarriers ? 1 : kThreads / 32);
    publish_mbarriers();
  }
  __device__ __forceinline__ void ask_for_k(int tile) {
    await_place(kKEmpty, tile);
    const int parts = parts_of(tile);
#pragma unroll
    for (int part = 0; part < K_PARTS; ++part) {
      if (part >= parts) break;
      const unsigned full = k_full(slot(tile), part);
      arrive_and_expect(full, kTileBytes / K_PARTS);
      ask_for_part<K_PARTS>(k_, k_at(tile), full, tile, part);
    }
  }
  __device__ __forceinline__ void ask_for_v(int tile) {
    // In no more boxes than must be: the thread that asks takes some 70 clocks for each.
    constexpr int kParts = kSomePartsOnly && BLOCK_N > 256 ? 2 : 1;
    await_place(kVEmpty, tile);
    const int parts = (parts_of(tile) * kParts + K_PARTS - 1) / K_PARTS;
    const unsigned full = v_full(slot(tile));
    arrive_and_expect(full, kTileBytes / kParts * parts);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (part >= parts) break;
      ask_for_part<kParts>(v_, v_at(tile), full, tile, part);
    }
  }
  template <int kParts>
  __device__ __forceinline__ void ask_for_part(const TensorMap& map, unsigned to, unsigned full,
                                               int tile, int part) const {
    constexpr int kRows = BLOCK_N / kParts;
    constexpr int kBoxRows = kRows > 256 ? kRows / 2 : kRows;  // a box has up to 256
#pragma unroll
    for (int row = part * kRows; row < (part + 1) * kRows; row += kBoxRows)
#pragma unroll
      for (int panel = 0; panel < HEAD_DIM / 64; ++panel)
        load_box(to + (panel * BLOCK_N + row) * 128, map, full, panel * 64, first_key(tile) + row,
                 head_, batch_);
  }
  __device__ __forceinline__ unsigned k_full(int slot, int part) const {
    return base + kKFull + 8 * (slot * K_PARTS + part);
  }
  __device__ __forceinline__ unsigned v_full(int slot) const { return base + kVFull + 8 * slot; }
  __device__ __forceinline__ unsigned parity(int tile) const {
    return (tile - first_tile) / STAGES % 2;
  }

  // Until all warps have read the tile that lay in this one's place.
  __device__ __forceinline__ void await_place(unsigned empty, int tile) const {
    if (tile >= first_tile + STAGES) wait_for(base + empty + 8 * slot(tile), parity(tile - STAGES));
  }

  // Where nothing more comes nobody asks.
  __device__ __forceinline__ void end(unsigned empty, int tile, int lane) {
    if (tile + STAGES >= end_tile) return;
    __syncwarp();
    if (lane == 0) arrive(base + empty + 8 * slot(tile));
  }

  const TensorMap& k_;
  const TensorMap& v_;
  int head_;
  int batch_;
};

#else

// By cp.async of all threads. Commit order K0 V0 K1 V1 ... await() = wait_group + __syncthreads:
// after await_k(t), V(t-1) is free; after await_v(t), K(t) is free; the caller refills that slot
// next.
class Copies : public Walk {
 public:
  __device__ __forceinline__ Copies(const Walk& walk, const Element* k, const Element* v,
                                    int stride, int length)
      : Walk(walk), k_(k), v_(v), stride_(stride), length_(length) {}

  __device__ __forceinline__ void begin_first() {
#pragma unroll
    for (int ahead = 0; ahead < STAGES; ++ahead) {
      begin_k(first_tile + ahead);
      if (ahead + 1 < STAGES) begin_v(first_tile + ahead);
    }
  }
  __device__ __forceinline__ static void await_barriers() {}
  __device__ __forceinline__ static void await_q(int) {
    wait_copies<2 * STAGES - 1>();
    __syncthreads();
  }
  __device__ __forceinline__ void restart() {}
  __device__ __forceinline__ void begin_k(int tile) { begin(k_, k_at(tile), tile); }
  __device__ __forceinline__ void begin_v(int tile) { begin(v_, v_at(tile), tile); }
  __device__ __forceinline__ void await_k(int, int) { await(); }
  __device__ __forceinline__ void await_v(int) { await(); }
  template <int kSeen>
  __device__ __forceinline__ void await_rest_of_k(int) const {}
  __device__ __forceinline__ void end_k(int, int) {}
  __device__ __forceinline__ void end_v(int, int) {}

 private:
  // An empty group is committed too: so the number that may still be under way does not depend on
  // the tile.
  __device__ __forceinline__ void begin(const Element* from, unsigned to, int tile) {
    if (tile < end_tile)
      Shared::load<BLOCK_N, kThreads, kHint, kRowStride>(to, from, stride_, first_key(tile),
                                                         length_);
    commit_copies();
  }
  __device__ __forceinline__ void await() {
    constexpr int kPending = 2 * (STAGES - 1);
    wait_copies<kPending>();
    __syncthreads();
  }

  const Element* k_;
  const Element* v_;
  int stride_;
  int length_;
};

#endif
