// y[i] = x[0] + ... + x[i] in three kernels: every block does a tile of THREADS * ITEMS elements, one
// block finds what lies before each tile, and the tiles get that added. In one of two ways:
//
// METHOD add: tiles are scanned into y and their sums kept; in the end y is read again, and what
// lies before a tile is added. METHOD again: at first tiles are only summed, and scanned from x in
// the end, which saves writing y twice. SUM_THREADS: of the one block in between.

#include "defaults.cuh"

#include "scan.cuh"

constexpr int kTile = THREADS * ITEMS;

// A tile goes through shared memory, so that neighbours in a warp read neighbours in memory, and a
// thread has ITEMS elements that follow one another. One word in 32 is left free against conflicts.
__device__ __forceinline__ int place_of(int i) { return i + i / 32; }
constexpr int kPlaces = kTile + kTile / 32;

// `before`: what lies before the tile. Gives the sum of its elements.
__device__ __forceinline__ float scan_tile(const float* x, float* y, int n, float before) {
  __shared__ float tile[kPlaces];
  __shared__ float warps[THREADS / 32];
  const long long first = (long long)blockIdx.x * kTile;
#pragma unroll
  for (int i = threadIdx.x; i < kTile; i += THREADS)
    tile[place_of(i)] = first + i < n ? x[first + i] : 0.f;
  __syncthreads();
  float items[ITEMS], sum = 0, total;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) items[i] = sum += tile[place_of(threadIdx.x * ITEMS + i)];
  const float scanned = scan_of_block<THREADS>(sum, warps, total);
  before += scanned - sum;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) tile[place_of(threadIdx.x * ITEMS + i)] = before + items[i];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < kTile; i += THREADS)
    if (first + i < n) y[first + i] = tile[place_of(i)];
  return total;
}

__global__ void __launch_bounds__(THREADS)
    scan_tiles(const float* x, float* y, float* sums, int n) {
  const float total = scan_tile(x, y, n, 0.f);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(THREADS) sum_tiles(const float* x, float* sums, int n) {
  __shared__ float warps[THREADS / 32];
  const long long first = (long long)blockIdx.x * kTile;
  float sum = 0, total;
#pragma unroll
  for (int i = threadIdx.x; i < kTile; i += THREADS)
    if (first + i < n) sum += x[first + i];
  scan_of_block<THREADS>(sum, warps, total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// From the sums of tiles to what lies before each, in their place.
__global__ void __launch_bounds__(SUM_THREADS) scan_sums(float* sums, int n) {
  __shared__ float warps[SUM_THREADS / 32];
  const int tiles = (n + kTile - 1) / kTile;
  float before = 0;
  for (int start = 0; start < tiles; start += SUM_THREADS) {
    const int i = start + threadIdx.x;
    const float sum = i < tiles ? sums[i] : 0.f;
    float total;
    const float scanned = scan_of_block<SUM_THREADS>(sum, warps, total);
    if (i < tiles) sums[i] = before + scanned - sum;
    before += total;
  }
}

__global__ void __launch_bounds__(THREADS) add_before(float* y, const float* sums, int n) {
  const long long first = (long long)blockIdx.x * kTile;
  const float before = sums[blockIdx.x];
#pragma unroll
  for (int i = threadIdx.x; i < kTile; i += THREADS)
    if (first + i < n) y[first + i] += before;
}

__global__ void __launch_bounds__(THREADS)
    scan_again(const float* x, float* y, const float* sums, int n) {
  scan_tile(x, y, n, sums[blockIdx.x]);
}
