// e4m3: V for the products. An 8-bit wgmma wants the depth of its operands, which are keys in P V,
// along the rows of shared memory, and V comes with its columns along them. Three warps beside the
// one that starts copies transpose each tile, 32 keys by 16 columns at a time, into a ring of its
// own.
//
// ldmatrix transposes pairs of bytes: thread t of a quad gets columns 2c and 2c + 1 of keys 2t and
// 2t + 1 of each eight. Two such registers, taken apart and put together, make
//   keys 2t, 2t + 1, 2t + 8, 2t + 9 of column 2c, and the same of column 2c + 1.
// Both stay as they lie:
//   - In a row of 16 keys, key 2t + 8 h + i has place 4 t + 2 h + i. The scores of a row lie in
//     their threads' registers so too, and P becomes an operand without moving between threads
//     (exponentiate_and_pack).
//   - Of 16 columns the even ones come first, so that the eight rows that stmatrix writes together
//     lie in different banks; stage_rows puts the output's columns in order.
#pragma once

#include "mbarrier.cuh"
#include "mma.cuh"
#include "store_matrix.cuh"
#include "tensor_copy.cuh"
#include "wgmma_shared.cuh"
#include "wgmma_tile_scheduler.cuh"

// Of 32 keys each, whose loads a warp has under way together: it has 24 to 40 registers.
constexpr int kPieces = BLOCK_N / 32;
constexpr int kPiecesAtOnce = kPieces % 2 == 0 ? 2 : 1;

// Bytes 0 and 2 of both (kOdd: 1 and 3), a's first.
template <bool kOdd>
__device__ __forceinline__ unsigned every_other_byte(unsigned a, unsigned b) {
  return __byte_perm(a, b, kOdd ? 0x7531 : 0x6420);
}

// A tile of V from `v_rows` (keys by columns) to `v_cols` (columns by keys), 16 columns of all keys
// at a time; every kTransposeWarps-th of these. All but two addresses are known in advance: the
// products are delayed by what is issued beside them.
__device__ __forceinline__ void transpose_tile(unsigned v_rows, unsigned v_cols, int worker,
                                               int lane) {
  // What the swizzle exchanges chunks of 16 bytes by, in all rows used here.
  const unsigned mix = lane % 8 << 4;
  const unsigned keys = lane / 16 * 16 ^ mix;
#pragma unroll 1
  for (int part = worker; part < HEAD_DIM / 16; part += kTransposeWarps) {
    const unsigned from = v_rows + lane * 128 + part / 8 * kKeyPanel + ((part % 8 << 4) ^ mix);
    const unsigned to = v_cols + lane % 16 * 128 + part * 2048;
#pragma unroll
    for (int first = 0; first < kPieces; first += kPiecesAtOnce) {
      unsigned r[kPiecesAtOnce][4];
#pragma unroll
      for (int i = 0; i < kPiecesAtOnce; ++i)
        ldmatrix_x4_transposed(r[i], from + (first + i) * 4096);
#pragma unroll
      for (int i = 0; i < kPiecesAtOnce; ++i)
        store_matrices(
            to + (first + i) / 4 * kVPanel + (keys ^ (first + i) % 4 * 32),
            every_other_byte<false>(r[i][0], r[i][1]), every_other_byte<true>(r[i][0], r[i][1]),
            every_other_byte<false>(r[i][2], r[i][3]), every_other_byte<true>(r[i][2], r[i][3]));
    }
  }
}

// One of kTransposeWarps warps.
__device__ __forceinline__ void transpose_v(unsigned base, TileScheduler scheduler, int rows,
                                            const Mask& mask, int worker, int lane) {
  KvPipelineState at;
  for (; scheduler.more(); scheduler.next()) {
    const KeyTiles tiles = block_key_tiles(scheduler.tile(), rows, mask);
    for (int j = tiles.end - 1; j >= tiles.first; --j) {
      wait_for(base + kVRowsFull + 8 * at.slot, at.parity);
      wait_for(base + kVEmpty + 8 * at.slot, at.parity ^ 1);
      transpose_tile(base + kVRows + at.slot * kKeyBytes, base + kV + at.slot * kVBytes, worker,
                     lane);
      fence_async_proxy();
      __syncwarp();
      if (lane == 0) {
        arrive(base + kVFull + 8 * at.slot);
        arrive(base + kVRowsEmpty + 8 * at.slot);
      }
      at.advance();
    }
  }
}
