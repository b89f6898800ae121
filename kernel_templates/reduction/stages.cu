// The sum of a vector in two kernels: each block of the first leaves the sum of its part in
// `parts`, and one block of the second adds these, in their order. Between two kernels memory is
// ordered by itself, so nobody counts blocks and no fence is needed; a second launch is the price.
//
// THREADS of a block; PARTS: blocks of the first kernel, fewer where there is less to do, so that the
// second is told their `count`; VECTOR: elements that a load takes; LAST_THREADS: of the one block of
// the second kernel.

#include "words.cuh"

// Of all threads; the first one gets it.
template <int kThreads>
__device__ __forceinline__ float sum_of_block(float value, float (&warps)[kThreads / 32]) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < kThreads / 32; ++i) value += warps[i];
  return value;
}

__global__ void __launch_bounds__(THREADS) reduction_parts(const float* x, float* parts, int n) {
  __shared__ float warps[THREADS / 32];
  const long long count = n / VECTOR;
  const long long step = (long long)gridDim.x * THREADS;
  float sum = 0;
  for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
    Loaded loaded;
    loaded.words = reinterpret_cast<const Words*>(x)[i];
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) sum += loaded.at[v];
  }
  // What is no whole piece.
  const long long rest = count * VECTOR + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) sum += x[rest];
  sum = sum_of_block<THREADS>(sum, warps);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(LAST_THREADS)
    reduction_last(const float* parts, float* total, int count) {
  __shared__ float warps[LAST_THREADS / 32];
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += LAST_THREADS) sum += parts[i];
  sum = sum_of_block<LAST_THREADS>(sum, warps);
  if (threadIdx.x == 0) *total = sum;
}
