// Softmax of each row, one thread a row, as the formula says: what the others are held against.
#include "half.cuh"

__global__ void softmax_plain(const half* x, half* y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  float largest = __half2float(x[0]);
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, __half2float(x[i]));
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(__half2float(x[i]) - largest);
  for (int i = 0; i < columns; ++i) y[i] = __float2half(expf(__half2float(x[i]) - largest) / sum);
}
