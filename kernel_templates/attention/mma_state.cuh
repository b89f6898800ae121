// What the parts of mma.cu agree on: the meaning of the genes, sizes, and what a thread holds.
#pragma once

#include "rescale.cuh"
#include "tile.cuh"

enum class QPlace { in_shared, in_registers, overlay };
enum class Epilogue { direct, staged };
enum class MaskedTiles { among, apart };
enum class KvOrder { forwards, backwards };
enum class BlockOrder { by_rows, longest_first };

constexpr QPlace kQPlace = QPlace::Q_PLACE;
constexpr Epilogue kEpilogue = Epilogue::EPILOGUE;
constexpr bool kMaskedApart = MaskedTiles::MASKED_TILES == MaskedTiles::apart;
constexpr KvOrder kKvOrder = KvOrder::KV_ORDER;
constexpr bool kLongestFirst = BlockOrder::SCHEDULE == BlockOrder::longest_first;
constexpr L2Hint kHint = L2Hint::L2_HINT;
using Shared = SharedTile<Layout::LAYOUT>;

constexpr int kThreads = WARPS_M * WARPS_N * 32;
constexpr int kWarpRows = BLOCK_M / WARPS_M;
constexpr int kWarpKeys = BLOCK_N / WARPS_N;
constexpr int kM = kWarpRows / 16;  // 16-row fragments a warp
constexpr int kN = kWarpKeys / 8;   // 8-key fragments of the scores
constexpr int kD = HEAD_DIM / 8;    // 8-column fragments of the output
constexpr int kK = HEAD_DIM / 16;   // 16-deep steps of QK^T

constexpr int kQBytes = Shared::bytes(BLOCK_M);
constexpr int kTileBytes = Shared::bytes(BLOCK_N);
// With `overlay` Q lies where the K buffers will be; the manifest sees to it that it fits there.
constexpr int kKStart = kQPlace == QPlace::overlay ? 0 : kQBytes;
constexpr int kVStart = kKStart + STAGES * kTileBytes;

// The copy engine leaves a tile of keys in panels of 64 columns, each swizzled by itself.
__device__ __forceinline__ int key_offset(int row, int chunk) {
  if (TENSOR_COPY) return (chunk / 8 * BLOCK_N + row) * 128 + ((chunk ^ row) & 7) * 16;
  return Shared::offset(row, chunk);
}

// What one thread holds of its warp's rows. Fragment i has rows g and g + 8 (g = lane / 4) of the
// warp's i-th 16 rows; index [..][h] is the half h.
struct WarpState {
  float output[kM][kD][4];
  // Of the scores before Scores::factor; with RESCALE threshold it may lag behind.
  float maximum[kM][2];
  float sum[kM][2];  // this thread's columns only, until the end
};
