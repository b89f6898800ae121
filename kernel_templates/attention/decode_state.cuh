// What the parts of decode.cu agree on: the meaning of the genes, and sizes.
#pragma once

#include "rescale.cuh"
#include "tile.cuh"

constexpr L2Hint kHint = L2Hint::L2_HINT;
using Shared = SharedTile<Layout::LAYOUT>;

constexpr int kThreads = WARPS * 32;
constexpr int kBlockKeys = WARPS * WARP_KEYS;  // a tile
constexpr int kWarpRows = BLOCK_M;
constexpr int kWarpKeys = WARP_KEYS;
constexpr int kKeyParts = 1;
constexpr int kPartKeys = WARP_KEYS;
constexpr int kRowsPerQuery = KV_GROUP;

#include "mma_warp.cuh"

// Q's rows, then every warp's own rings of K and V.
constexpr int kQBytes = Shared::bytes(BLOCK_M);
constexpr int kStageBytes = Shared::bytes(WARP_KEYS);
constexpr int kRingBytes = STAGES * kStageBytes;

constexpr int kKeyPitch = Shared::kPitch;  // bytes from a key to the next
__device__ __forceinline__ int key_offset(int row, int chunk) { return Shared::offset(row, chunk); }
__device__ __forceinline__ int further_chunk(int offset, int more) {
  return Shared::further_chunk(offset, more);
}
