// A thread computes PER points, one below the other. STAGED: the block first copies all that its
// points need to shared memory, with a border of two points.
__constant__ float weights[25];

constexpr int kBorder = 2, kRows = HEIGHT * PER;

struct Grid {
  const float* x;
  int rows, columns;
  __device__ float at(int row, int column) const {
    const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return inside ? x[row * columns + column] : 0;
  }
};

__global__ void stencil(const float* x, float* y, int rows, int columns) {
  const Grid grid{x, rows, columns};
  const int top = blockIdx.y * kRows, left = blockIdx.x * WIDTH;
#if STAGED
  __shared__ float tile[kRows + 2 * kBorder][WIDTH + 2 * kBorder];
  for (int i = threadIdx.y; i < kRows + 2 * kBorder; i += HEIGHT)
    for (int j = threadIdx.x; j < WIDTH + 2 * kBorder; j += WIDTH)
      tile[i][j] = grid.at(top + i - kBorder, left + j - kBorder);
  __syncthreads();
#endif
  const int first = threadIdx.y * PER, column = left + threadIdx.x;
  float sums[PER] = {};
#pragma unroll
  for (int i = 0; i < PER + 2 * kBorder; ++i)
#pragma unroll
    for (int j = 0; j < 5; ++j) {
#if STAGED
      const float value = tile[first + i][threadIdx.x + j];
#else
      const float value = grid.at(top + first + i - kBorder, column + j - kBorder);
#endif
#pragma unroll
      for (int k = 0; k < PER; ++k)
        if (i >= k && i - k < 5) sums[k] += weights[(i - k) * 5 + j] * value;
    }
  for (int k = 0, row = top + first; k < PER; ++k, ++row)
    if (row < rows && column < columns) y[row * columns + column] = sums[k];
}
