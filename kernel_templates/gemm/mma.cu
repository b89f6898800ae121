// C = A B^T on the tensor cores of sm_80 and later: a block makes BLOCK_M x BLOCK_N elements, its
// WARPS_M x WARPS_N warps a part each in registers. Tiles of A and B, DEPTH deep, come into a ring
// of STAGES by asynchronous copies, which run ahead of the products. Chunks of 16 bytes are
// exchanged within a row by the row's number, so that ldmatrix finds eight rows in different banks.
//
// GROUP: this many rows of tiles are gone through column by column, so that tiles at work at one
// time share what they read of A and B in L2.

#include "defaults.cuh"

#include "copy.cuh"
#include "element.cuh"
#include "mma.cuh"
#include "shared.cuh"

constexpr int kThreads = WARPS_M * WARPS_N * 32;
constexpr int kChunks = DEPTH / 8;  // of a row
constexpr int kRowBytes = DEPTH * 2;
constexpr int kABytes = BLOCK_M * kRowBytes;
constexpr int kStageBytes = kABytes + BLOCK_N * kRowBytes;
constexpr int kWarpM = BLOCK_M / WARPS_M, kWarpN = BLOCK_N / WARPS_N;
constexpr int kTilesM = kWarpM / 16, kTilesN = kWarpN / 8;

// Bytes from a tile's start to a chunk of a row. Eight rows of 128 bytes fill the banks eight
// times; of 64 bytes four times, two rows side by side.
__device__ __forceinline__ int place_of(int row, int chunk) {
  const int turn = kChunks == 8 ? row & 7 : row >> 1 & 3;
  return row * kRowBytes + ((chunk ^ turn) << 4);
}

// Begins to copy kRows rows, from `first` on, of a matrix of `rows` x k; what lies outside becomes
// zero.
template <int kRows>
__device__ __forceinline__ void copy_tile(unsigned to, const Element* from, int first, int rows,
                                          int start, int k) {
#pragma unroll
  for (int i = 0; i < kRows * kChunks; i += kThreads) {
    const int index = i + threadIdx.x;
    if (kRows * kChunks % kThreads != 0 && index >= kRows * kChunks) break;
    const int row = index / kChunks, chunk = index % kChunks;
    const bool inside = first + row < rows && start + chunk * 8 < k;
    const long long at = inside ? (long long)(first + row) * k + start + chunk * 8 : 0;
    copy_16_async(to + place_of(row, chunk), from + at, inside);
  }
}

using Sums = float[kTilesM][kTilesN][4];

// Of one stage; `a` and `b` are where the warp's rows begin.
__device__ __forceinline__ void multiply(Sums& sums, unsigned a, unsigned b, int lane) {
#pragma unroll
  for (int depth = 0; depth < DEPTH / 16; ++depth) {
    unsigned left[kTilesM][4], right[kTilesN / 2][4];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i)
      ldmatrix_x4(left[i], a + place_of(i * 16 + lane % 16, depth * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < kTilesN / 2; ++j)
      ldmatrix_x4(right[j],
                  b + place_of(j * 16 + lane / 16 * 8 + lane % 8, depth * 2 + lane / 8 % 2));
#pragma unroll
    for (int i = 0; i < kTilesM; ++i)
#pragma unroll
      for (int j = 0; j < kTilesN; ++j)
        mma_16x8x16(sums[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
  }
}

__device__ __forceinline__ void write_tile(Element* C, const Sums& sums, int top, int left, int m,
                                           int n, int lane) {
#pragma unroll
  for (int i = 0; i < kTilesM; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = top + i * 16 + half * 8 + lane / 4;
      if (row >= m) continue;
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        const int column = left + j * 8 + lane % 4 * 2;
        if (column < n)  // n is even
          *reinterpret_cast<unsigned*>(C + (long long)row * n + column) =
              pack(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
    }
}

__global__ void __launch_bounds__(kThreads)
    gemm_mma(const Element* A, const Element* B, Element* C, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  const int down = (m + BLOCK_M - 1) / BLOCK_M, across = (n + BLOCK_N - 1) / BLOCK_N;
  const int group = blockIdx.x / (GROUP * across) * GROUP;
  const int rows = min(GROUP, down - group);
  const int top = (group + blockIdx.x % (GROUP * across) % rows) * BLOCK_M;
  const int left = blockIdx.x % (GROUP * across) / rows * BLOCK_N;

  const int steps = (k + DEPTH - 1) / DEPTH;
  // A group of copies for each step, an empty one behind the last.
  const auto begin_step = [&](int step) {
    if (step < steps) {
      const unsigned stage = base + step % STAGES * kStageBytes;
      copy_tile<BLOCK_M>(stage, A, top, m, step * DEPTH, k);
      copy_tile<BLOCK_N>(stage + kABytes, B, left, n, step * DEPTH, k);
    }
    commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) begin_step(step);

  const int warp_top = warp / WARPS_N * kWarpM, warp_left = warp % WARPS_N * kWarpN;
  Sums sums = {};
  for (int step = 0; step < steps; ++step) {
    wait_copies<STAGES - 2>();
    // All see this step's tiles, and have done with those whose place the next copies take.
    __syncthreads();
    begin_step(step + STAGES - 1);
    const unsigned stage = base + step % STAGES * kStageBytes;
    multiply(sums, stage + warp_top * kRowBytes, stage + kABytes + warp_left * kRowBytes, lane);
  }
  write_tile(C, sums, top + warp_top, left + warp_left, m, n, lane);
}
