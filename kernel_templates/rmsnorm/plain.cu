// Each row divided by the root of the mean of its squares, times a weight a column (Zhang and
// Sennrich, Root Mean Square Layer Normalization, 2019): one thread a row. What the others are held
// against.
#include "half.cuh"

__global__ void rmsnorm_plain(const half* x, const half* weight, half* y, int rows, int columns,
                              float epsilon) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  float squares = 0;
  for (int i = 0; i < columns; ++i) squares += __half2float(x[i]) * __half2float(x[i]);
  float factor = rsqrtf(squares / columns + epsilon);
  for (int i = 0; i < columns; ++i)
    y[i] = __float2half(__half2float(x[i]) * factor * __half2float(weight[i]));
}
