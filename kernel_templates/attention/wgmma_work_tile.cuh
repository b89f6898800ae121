// What there is to do for one warpgroup in a tile of the output.
#pragma once

#include "mask.cuh"
#include "tensor_copy.cuh"
#include "wgmma_tile_scheduler.cuh"

// A tile as one warpgroup sees it.
struct WorkTile {
  OutputTile tile;
  int first_row;   // of this warpgroup
  KeyTiles tiles;  // that the block loads
  int seen;  // behind the last of its share that a row of it sees, up to tiles.first where none is
  KeyTiles clean;  // that need no mask; with no window to the left, all from the first one on

  __device__ __forceinline__ bool has_rows(int rows) const {
    return first_row < rows && (!CAUSAL || first_row >= 0);
  }
};

// Behind the last tile of keys that the block loads for this key group, which takes every
// KEY_GROUPS-th.
__device__ __forceinline__ int end_of_share(const KeyTiles& tiles, int key_group) {
  return tiles.end - key_group;
}

__device__ __forceinline__ WorkTile work_tile(const TileScheduler& scheduler, int row_group,
                                              int key_group, int rows, const Mask& mask) {
  WorkTile work;
  work.tile = scheduler.tile();
  work.first_row = work.tile.first_row + row_group * 64;
  work.tiles = block_key_tiles(work.tile, rows, mask);
  const int last_row = min(work.first_row + 64, rows) - 1;
  work.seen = work.has_rows(rows) ? key_tiles(mask.end_key(position_of(last_row))) : 0;
  if (WINDOW_LEFT) work.seen = max(work.seen, work.tiles.first);
  work.clean = {WINDOW_LEFT ? key_tiles(mask.first_key(position_of(last_row))) : 0,
                mask.end_key(position_of(work.first_row)) / BLOCK_N};
  if constexpr (SPLIT_KV > 1) work.seen = min(max(work.seen, work.tiles.first), work.tiles.end);
  // What rows that there are not would see may lie before the block's tiles.
  if constexpr (SPLIT_KV > 1 || (CAUSAL && WINDOW_LEFT))
    work.clean = {max(work.clean.first, work.tiles.first), max(work.clean.end, work.tiles.first)};
  if constexpr (KEY_GROUPS > 1) {
    const int end = end_of_share(work.tiles, key_group);
    const int hidden = max(end - work.seen, 0);
    work.seen = end - (hidden + KEY_GROUPS - 1) / KEY_GROUPS * KEY_GROUPS;
  }
  return work;
}

// The head of Q that a row belongs to.
__device__ __forceinline__ int head_of(const WorkTile& work, int row) {
  return work.tile.head * kPacked + row % kPacked;
}

// One thread: 64 columns of the warpgroup's rows. The map of packed heads has these as one more
// dimension.
__device__ __forceinline__ void store_rows(const TensorMap& map, unsigned from, int column,
                                           const WorkTile& work) {
  const OutputTile& tile = work.tile;
  if constexpr (PACK_HEADS)
    store_box(map, from, column, 0, work.first_row / kPacked, tile.head, tile.batch);
  else
    store_box(map, from, column, work.first_row, tile.head, tile.batch);
}

// What the features besides masks and scores need of the kernel's arguments.
struct Features {
  float* lse;
  const float* alibi_slopes;
  int heads;  // of Q
  int lq;
};
