// A tile of rows of HEAD_DIM 16-bit elements in shared memory, moved in chunks of 16 bytes.
//
// ldmatrix reads the same chunk of eight rows that follow each other. In a plain layout a row is
// 128 or 256 bytes, so all eight chunks lie in the same four banks and are served one after the
// other. Padding a row by a chunk, or exchanging a row's chunks by the row's number (xor), puts
// them in different banks.
#pragma once

#include "copy.cuh"
#include "element.cuh"

enum class Layout { plain, padded, swizzled };

template <Layout kLayout>
struct SharedTile {
  static constexpr int kChunks = HEAD_DIM / 8;
  static constexpr int kPitch = HEAD_DIM + (kLayout == Layout::padded ? 8 : 0);  // elements

  static constexpr int bytes(int rows) { return rows * kPitch * 2; }

  // Bytes from the tile's start to chunk `chunk` of row `row`.
  __device__ __forceinline__ static int offset(int row, int chunk) {
    const int place = kLayout == Layout::swizzled ? chunk ^ (row & 7) : chunk;
    return (row * kPitch + place * 8) * 2;
  }

  // Begins to copy kRows rows of `global`, which lie `stride` elements apart and of which those
  // from `end` on do not exist and become zero. kThreads threads take part, all of the block or those
  // of a warp; they commit afterwards.
  template <int kRows, int kThreads, L2Hint kHint = L2Hint::none>
  __device__ __forceinline__ static void load(unsigned shared, const Element* global, int stride,
                                              int first, int end, int thread = threadIdx.x) {
    constexpr int kTotal = kRows * kChunks;
#pragma unroll
    for (int i = 0; i < kTotal; i += kThreads) {
      const int index = i + thread;
      if (kTotal % kThreads != 0 && index >= kTotal) break;
      const int row = index / kChunks;
      const int chunk = index % kChunks;
      const bool inside = first + row < end;
      // An address inside the tensor even where nothing is read.
      const Element* const source =
          global + static_cast<long long>(inside ? first + row : 0) * stride + chunk * 8;
      copy_16_async<kHint>(shared + offset(row, chunk), source, inside);
    }
  }
};
