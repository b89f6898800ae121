// The sum of a vector by one block, whose threads meet in shared memory. THREADS: a power of two.

#include "defaults.cuh"

__global__ void __launch_bounds__(THREADS) reduction_block(const float* x, float* total, int n) {
  __shared__ float parts[THREADS];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += THREADS) sum += x[i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = parts[0];
}
