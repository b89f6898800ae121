// The warps that only start copies: one for Q and K, one for V. In e4m3 one for all: the others turn
// V over.
#pragma once

#include "mbarrier.cuh"
#include "tensor_copy.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_tile_scheduler.cuh"

// One thread: a tile's rows of Q. The map of packed heads has them as one more dimension.
__device__ __forceinline__ void load_rows(unsigned to, const TensorMap& map, unsigned barrier,
                                          int column, int row, int head, int batch) {
  if constexpr (PACK_HEADS)
    load_box(to, map, barrier, column, 0, row / kPacked, head, batch);
  else
    load_box(to, map, barrier, column, row, head, batch);
}

// One thread: this block's part of a tile of keys into the ring, for all blocks of the cluster.
__device__ __forceinline__ void load_keys(unsigned ring, unsigned full, unsigned empty,
                                          const KvPipelineState& at, const TensorMap& map,
                                          const OutputTile& tile, int first_key, int rank) {
  constexpr int kRows = BLOCK_N / CLUSTER;
  wait_for(empty + 8 * at.slot, at.parity ^ 1);
  arrive_and_expect(full + 8 * at.slot, kKeyBytes);
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    const unsigned to = ring + at.slot * kKeyBytes + panel * kKeyPanel + rank * kRows * 128;
    if constexpr (CLUSTER > 1)
      load_box_for((1 << CLUSTER) - 1, to, map, full + 8 * at.slot, panel * kPanelColumns,
                   first_key + rank * kRows, kv_head_of(tile.head), tile.batch);
    else
      load_box(to, map, full + 8 * at.slot, panel * kPanelColumns, first_key, kv_head_of(tile.head),
               tile.batch);
  }
}

__device__ __forceinline__ void produce_q_k(unsigned base, TileScheduler scheduler,
                                            const TensorMap& q_map, const TensorMap& k_map,
                                            const TensorMap& v_map, int rows, const Mask& mask,
                                            int rank) {
  KvPipelineState at;
  PipelineState<Q_STAGES> q_at;
  for (; scheduler.more(); scheduler.next()) {
    const OutputTile tile = scheduler.tile();
    const KeyTiles tiles = block_key_tiles(tile, rows, mask);
    // Also where no row sees a key: the zeros leave through Q's place, which is the tile's only
    // once Q came.
    const unsigned full = base + kQFull + 8 * q_at.slot;
    wait_for(base + kQEmpty + 8 * q_at.slot, q_at.parity ^ 1);
    arrive_and_expect(full, kQBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel)
      load_rows(base + q_at.slot * kQBytes + panel * kQPanel, q_map, full, panel * kPanelColumns,
                tile.first_row, tile.head, tile.batch);
    q_at.advance();
    for (int j = tiles.end - 1; j >= tiles.first; --j) {
      load_keys(base + kK, base + kKFull, base + kKEmpty, at, k_map, tile, j * BLOCK_N, rank);
      if constexpr (DTYPE_E4M3)
        load_keys(base + kVRows, base + kVRowsFull, base + kVRowsEmpty, at, v_map, tile,
                  j * BLOCK_N, rank);
      at.advance();
    }
  }
}

// The first tile of K of every key group: V would share their way, and is needed later.
__device__ __forceinline__ void await_first_keys(unsigned base, const KeyTiles& tiles) {
  for (int group = 0; group < min(KEY_GROUPS, tiles.end - tiles.first); ++group)
    wait_for(base + kKFull + 8 * group, 0);
}

__device__ __forceinline__ void produce_v(unsigned base, TileScheduler scheduler,
                                          const TensorMap& v_map, int rows, const Mask& mask,
                                          int rank) {
  if (scheduler.more()) await_first_keys(base, block_key_tiles(scheduler.tile(), rows, mask));
  KvPipelineState at;
  for (; scheduler.more(); scheduler.next()) {
    const OutputTile tile = scheduler.tile();
    const KeyTiles tiles = block_key_tiles(tile, rows, mask);
    for (int j = tiles.end - 1; j >= tiles.first; --j) {
      load_keys(base + kV, base + kVFull, base + kVEmpty, at, v_map, tile, j * BLOCK_N, rank);
      at.advance();
    }
  }
}
