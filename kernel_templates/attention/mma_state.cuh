// What the parts of mma.cu agree on: the meaning of the genes, sizes, and what a thread holds.
#pragma once

#include "math.cuh"
#include "rescale.cuh"
#include "tile.cuh"

enum class Epilogue { direct, staged };
enum class MaskedTiles { among, apart, by_part };
enum class KvOrder { forwards, backwards };
enum class BlockOrder { by_rows, longest_first, both_ends };
enum class JoinPlace { over_kv, own };
enum class NextBegins { at_start, at_end, behind };

constexpr Epilogue kEpilogue = Epilogue::EPILOGUE;
constexpr MaskedTiles kMaskedTiles = MaskedTiles::MASKED_TILES;
constexpr KvOrder kKvOrder = KvOrder::KV_ORDER;
constexpr bool kLongestFirst = BlockOrder::SCHEDULE == BlockOrder::longest_first;
constexpr bool kBothEnds = BlockOrder::SCHEDULE == BlockOrder::both_ends;
constexpr JoinPlace kJoinPlace = JoinPlace::JOIN_PLACE;
constexpr NextBegins kNextBegins =
    DEPENDENT_LAUNCH ? NextBegins::NEXT_BEGINS : NextBegins::behind;
constexpr L2Hint kHint = L2Hint::L2_HINT;
using Shared = SharedTile<Layout::LAYOUT>;

constexpr int kThreads = WARPS_M * WARPS_N * 32;
constexpr int kWarpRows = BLOCK_M / WARPS_M;
constexpr int kWarpKeys = BLOCK_N / WARPS_N;
// A block's rows follow each other, or with both_ends each half of them does.
constexpr int kRowGroups = kBothEnds ? 2 : 1;
constexpr int kGroupRows = BLOCK_M / kRowGroups;
constexpr int kGroupThreads = kThreads / kRowGroups;
constexpr int kKeyParts = K_PARTS;
constexpr int kPartKeys = BLOCK_N / K_PARTS;  // of all warps
constexpr int kRowsPerQuery = 1;

// Parts of a tile that have a key in front of `keys`, counted from the tile's first: at least one.
__device__ __forceinline__ int parts_up_to(int keys) {
  return max(1, min((keys + kPartKeys - 1) / kPartKeys, K_PARTS));
}

// Which rows a block has.
struct BlockRows {
  // All of them lie between these two: with both_ends a half of them at each end.
  int first;
  int end;
  // The thread's.
  int group;
  int group_first;

  __device__ __forceinline__ explicit BlockRows(int lq) {
    const int tiles = (lq + BLOCK_M - 1) / BLOCK_M;
    const int tile = kLongestFirst ? tiles - 1 - blockIdx.y : blockIdx.x;
    first = tile * kGroupRows;
    end = kBothEnds ? (2 * tiles - tile) * kGroupRows : first + BLOCK_M;
    group = kBothEnds ? threadIdx.x / kGroupThreads : 0;
    group_first = group > 0 ? end - kGroupRows : first;
  }
};

#include "mma_warp.cuh"

// RESCALE by_sum: steps of P V whose probabilities are computed beside each part of K but the first.
constexpr int kEarlySteps = kPartFragments / 2 * EARLY_P / 4;

constexpr int kQBytes = Shared::bytes(BLOCK_M);
constexpr int kTileBytes = Shared::bytes(BLOCK_N);
// With `overlay` Q lies where the K buffers will be; the manifest sees to it that it fits there.
constexpr int kKStart = kQPlace == QPlace::overlay ? 0 : kQBytes;
constexpr int kVStart = kKStart + STAGES * kTileBytes;
// Behind the rings lie the barriers of TENSOR_COPY (mma_copies.cuh), then what JOIN_PLACE may have.
constexpr int kBarriersStart = kVStart + STAGES * kTileBytes;
constexpr int kJoinStart = kBarriersStart + (TENSOR_COPY ? 64 * STAGES : 0);

__device__ __forceinline__ void clear(WarpState& state) {
#pragma unroll
  for (int i = 0; i < kM; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      state.maximum[i][h] = minus_infinity();
      state.sum[i][h] = 0.0f;
    }
#pragma unroll
    for (int d = 0; d < kD; ++d)
#pragma unroll
      for (int e = 0; e < 4; ++e) state.output[i][d][e] = 0.0f;
  }
}

// Bytes from a key to the next.
constexpr int kKeyPitch = TENSOR_COPY ? 128 : Shared::kPitch;

// The copy engine leaves a tile of keys in panels of 64 columns, each swizzled by itself.
__device__ __forceinline__ int key_offset(int row, int chunk) {
  if (TENSOR_COPY) return (chunk / 8 * BLOCK_N + row) * 128 + ((chunk ^ row) & 7) * 16;
  return Shared::offset(row, chunk);
}
__device__ __forceinline__ int further_chunk(int offset, int more) {
  if (TENSOR_COPY) return (offset ^ more % 8 * 16) + more / 8 * BLOCK_N * 128;
  return Shared::further_chunk(offset, more);
}
