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
  int seen;        // the end of those that a row of this warpgroup sees, tiles.first where none is
  KeyTiles clean;  // that need no mask; with no window to the left, all from the first one on
};

__device__ __forceinline__ WorkTile work_tile(const TileScheduler& scheduler, int group, int rows,
                                              const Mask& mask) {
  WorkTile work;
  work.tile = scheduler.tile();
  work.first_row = work.tile.first_row + group * 64;
  work.tiles = block_key_tiles(work.tile, rows, mask);
  const int last_row = min(work.first_row + 64, rows) - 1;
  work.seen = work.first_row < rows ? key_tiles(mask.end_key(position_of(last_row))) : 0;
  if (WINDOW_LEFT) work.seen = max(work.seen, work.tiles.first);
  work.clean = {WINDOW_LEFT ? key_tiles(mask.first_key(position_of(last_row))) : 0,
                mask.end_key(position_of(work.first_row)) / BLOCK_N};
  if constexpr (SPLIT_KV > 1) {
    work.seen = min(max(work.seen, work.tiles.first), work.tiles.end);
    work.clean = {max(work.clean.first, work.tiles.first), max(work.clean.end, work.tiles.first)};
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
