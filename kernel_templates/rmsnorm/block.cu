// RMSNorm, a block a row: neighbours read neighbours, and the block's threads add their squares in
// shared memory. Two passes over the row. THREADS: of a block, a power of two.

#include "defaults.cuh"

#include "element.cuh"

__global__ void __launch_bounds__(THREADS)
    rmsnorm_block(const Element* x, const Element* weight, Element* y, int columns, float epsilon) {
  __shared__ float parts[THREADS];
  x += (long long)blockIdx.x * columns;
  y += (long long)blockIdx.x * columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) squares += to_float(x[i]) * to_float(x[i]);
  parts[threadIdx.x] = squares;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  float factor = rsqrtf(parts[0] / columns + epsilon);
  for (int i = threadIdx.x; i < columns; i += THREADS)
    y[i] = static_cast<Element>(pack(to_float(x[i]) * factor * to_float(weight[i]), 0.0f));
}
