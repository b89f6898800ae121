// Which tiles of the output a block makes, and in which order.
//
// A tile is the rows of one cluster (CLUSTER * BLOCK_M) of one head. Heads are taken HEAD_GROUP at
// a time, so that the keys and values in use stay in L2; within a group the tiles with most keys
// come first, so that the last ones to be begun are short. Where rows do not fill their tiles, the
// tile with fewest keys is the one with warpgroups to spare: causal tiles are counted from a head's
// last 64 rows back, and the first of them may begin 64 rows or more before row 0.
//
// With PACK_HEADS the KV_GROUP heads of Q that share a head of K and V count as one with as many
// times more rows: row r is position r / KV_GROUP of head r % KV_GROUP of the group. One tile of
// keys then serves them all, and few positions still fill a tile of rows.
#pragma once

#include "mask.cuh"
#include "mbarrier.cuh"

constexpr int kPacked = PACK_HEADS ? KV_GROUP : 1;  // heads that a row's number counts through

__device__ __forceinline__ int position_of(int row) { return row / kPacked; }

// Of the heads that TileScheduler counts.
__device__ __forceinline__ int kv_head_of(int head) { return PACK_HEADS ? head : head / KV_GROUP; }

constexpr int kBlocksTogether = CLUSTER * SPLIT_KV;  // that work on one tile

struct OutputTile {
  int first_row;  // of this block; below 0 only where CAUSAL, then by a multiple of 64
  int head;
  int batch;
};

// Tile `row_tile`, in the order in which they are begun, of a head that has `rows` rows.
__device__ __forceinline__ OutputTile output_tile(int row_tile, int rows, int head, int batch,
                                                  int rank) {
  constexpr int kRows = CLUSTER * BLOCK_M;
  const int end = (rows + 63) / 64 * 64;
  const int first_row = CAUSAL ? end - (row_tile + 1) * kRows : row_tile * kRows;
  return {first_row + rank * BLOCK_M, head, batch};
}

__device__ __forceinline__ int tiles_of_rows(int rows) {
  return (rows + CLUSTER * BLOCK_M - 1) / (CLUSTER * BLOCK_M);
}

// `rows` and `heads` as PACK_HEADS makes them.
#if PERSISTENT

// A block takes one tile after the other.
class TileScheduler {
 public:
  __device__ __forceinline__ TileScheduler(int rows, int heads, int batches, int rank)
      : rows_(rows),
        heads_(heads),
        all_heads_(heads * batches),
        row_tiles_(tiles_of_rows(rows)),
        rank_(rank),
        workers_(static_cast<int>(gridDim.x) / kBlocksTogether),
        worker_(static_cast<int>(blockIdx.x) / kBlocksTogether),
        index_(worker_) {}

  __device__ __forceinline__ bool more() const { return index_ < all_heads_ * row_tiles_; }

  // Every other round runs backwards: who had the longest tile of one gets the shortest of the
  // next.
  __device__ __forceinline__ void next() {
    round_ += 1;
    index_ = round_ * workers_ + (round_ % 2 != 0 ? workers_ - 1 - worker_ : worker_);
  }

  __device__ __forceinline__ OutputTile tile() const {
    const int group_tiles = HEAD_GROUP * row_tiles_;
    const int group = index_ / group_tiles;
    const int place = index_ - group * group_tiles;
    const int group_heads = min(HEAD_GROUP, all_heads_ - group * HEAD_GROUP);
    const int row_tile = place / group_heads;
    const int any_head = group * HEAD_GROUP + place - row_tile * group_heads;
    const int batch = any_head / heads_;
    return output_tile(row_tile, rows_, any_head - batch * heads_, batch, rank_);
  }

 private:
  int rows_;
  int heads_;
  int all_heads_;
  int row_tiles_;
  int rank_;
  int workers_;
  int worker_;
  int round_ = 0;
  int index_;
};

#else

// A block takes one tile, which the grid tells without a division: [tiles of rows of a group of
// heads, groups, batches]. Of the last group of a batch some heads may not exist.
class TileScheduler {
 public:
  __device__ __forceinline__ TileScheduler(int rows, int heads, int, int rank) {
    const int place = static_cast<int>(blockIdx.x) / kBlocksTogether;
    const int head = static_cast<int>(blockIdx.y) * HEAD_GROUP + place % HEAD_GROUP;
    more_ = head < heads;
    tile_ = output_tile(place / HEAD_GROUP, rows, head, static_cast<int>(blockIdx.z), rank);
  }

  __device__ __forceinline__ bool more() const { return more_; }
  __device__ __forceinline__ void next() { more_ = false; }
  __device__ __forceinline__ const OutputTile& tile() const { return tile_; }

 private:
  OutputTile tile_;
  bool more_;
};

#endif

// Tiles of keys [first, end); first <= end.
struct KeyTiles {
  int first;
  int end;
};

__device__ __forceinline__ int key_tiles(int keys) { return (keys + BLOCK_N - 1) / BLOCK_N; }

// This block's part of a cluster's tiles of keys.
__device__ __forceinline__ KeyTiles own_part(const KeyTiles& all) {
  if constexpr (SPLIT_KV == 1) return all;
  const int share = (all.end - all.first + SPLIT_KV - 1) / SPLIT_KV;
  const int first = min(all.first + static_cast<int>(cluster_rank()) * share, all.end);
  return {first, min(first + share, all.end)};
}

// Key tiles that a block walks over: from those of its cluster's first row to those of the last.
// With CLUSTER they are the same for all of its blocks, which share what they load.
__device__ __forceinline__ KeyTiles block_key_tiles(const OutputTile& tile, int rows,
                                                    const Mask& mask) {
  const int rank = CLUSTER > 1 ? static_cast<int>(cluster_rank()) : 0;
  const int first = tile.first_row - rank * BLOCK_M;
  return own_part({mask.first_key(position_of(max(first, 0))) / BLOCK_N,
                   key_tiles(mask.end_key(position_of(min(first + CLUSTER * BLOCK_M, rows) - 1)))});
}
