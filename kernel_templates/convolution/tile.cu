// A 15 x 15 filter over an image, a tile of it in shared memory for each block: each of BLOCK_X x
// BLOCK_Y threads makes TILE_X x TILE_Y elements in registers. They lie BLOCK_X and BLOCK_Y apart,
// so that neighbours write neighbours and read other banks; or, with ADJACENT, side by side in x,
// so that a thread reads what it needs of a row once and slides over it. PADDING: elements by which
// a row of the tile is longer than it need be. UNROLL: rows of the filter that are unrolled.

#include "defaults.cuh"

constexpr int filter_size = 15;
constexpr int tile_width = BLOCK_X * TILE_X + filter_size - 1;
constexpr int tile_height = BLOCK_Y * TILE_Y + filter_size - 1;
constexpr int tile_stride = tile_width + PADDING;
constexpr int threads = BLOCK_X * BLOCK_Y;
// For a pragma: nvcc expands no macro there, and a constant would be a variable of the module.
enum { unroll = UNROLL };

// Where in the tile the thread's t-th element in x is.
__device__ int element_x(int t) {
  return ADJACENT ? threadIdx.x * TILE_X + t : threadIdx.x + t * BLOCK_X;
}

__global__ void __launch_bounds__(threads)
    convolution_tile(const float* image, const float* filter, float* out, int width, int height) {
  __shared__ float tile[tile_height][tile_stride];
  __shared__ float weights[filter_size * filter_size];
  const int left = blockIdx.x * BLOCK_X * TILE_X;
  const int top = blockIdx.y * BLOCK_Y * TILE_Y;
  const int own = threadIdx.y * BLOCK_X + threadIdx.x;
  for (int i = own; i < filter_size * filter_size; i += threads) weights[i] = filter[i];
  for (int i = own; i < tile_width * tile_height; i += threads) {
    int x = i % tile_width, y = i / tile_width;
    bool inside = left + x < width + filter_size - 1 && top + y < height + filter_size - 1;
    tile[y][x] = inside ? image[(top + y) * (width + filter_size - 1) + left + x] : 0;
  }
  __syncthreads();

  float sum[TILE_Y][TILE_X] = {};
#pragma unroll unroll
  for (int i = 0; i < filter_size; ++i) {
#pragma unroll
    for (int ty = 0; ty < TILE_Y; ++ty) {
      const float* row = tile[threadIdx.y + ty * BLOCK_Y + i];
      if (ADJACENT) {
        float seen[TILE_X + filter_size - 1];
#pragma unroll
        for (int j = 0; j < TILE_X + filter_size - 1; ++j) seen[j] = row[element_x(0) + j];
#pragma unroll
        for (int j = 0; j < filter_size; ++j)
#pragma unroll
          for (int tx = 0; tx < TILE_X; ++tx)
            sum[ty][tx] += seen[tx + j] * weights[i * filter_size + j];
      } else {
#pragma unroll
        for (int j = 0; j < filter_size; ++j)
#pragma unroll
          for (int tx = 0; tx < TILE_X; ++tx)
            sum[ty][tx] += row[element_x(tx) + j] * weights[i * filter_size + j];
      }
    }
  }

#pragma unroll
  for (int ty = 0; ty < TILE_Y; ++ty)
#pragma unroll
    for (int tx = 0; tx < TILE_X; ++tx) {
      int x = left + element_x(tx), y = top + threadIdx.y + ty * BLOCK_Y;
      if (x < width && y < height) out[y * width + x] = sum[ty][tx];
    }
}
