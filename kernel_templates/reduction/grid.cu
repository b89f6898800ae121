// The sum of a vector by all blocks in one launch: each leaves the sum of its part in `partial`,
// and the block that is done last adds these, in their order. So the result is the same each time,
// whoever is last. `done` counts blocks and is 0 again in the end, ready for the next launch.
//
// THREADS of a block; VECTOR: elements that a load takes; UNROLL: loads that a thread has under
// way; LOAD: whether the caches are told that an element is used once.

#include "words.cuh"

enum class Use { cached, once };

constexpr int warps = THREADS / 32;

__device__ __forceinline__ float sum_of_piece(const float* x, long long piece) {
  const Words* from = reinterpret_cast<const Words*>(x) + piece;
  Loaded loaded;
  loaded.words = Use::LOAD == Use::once ? __ldcs(from) : *from;
  float sum = loaded.at[0];
#pragma unroll
  for (int v = 1; v < VECTOR; ++v) sum += loaded.at[v];
  return sum;
}

// Of all threads; the first one gets it.
__device__ __forceinline__ float sum_of_block(float value, float (&parts)[warps]) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < warps; ++i) value += parts[i];
  return value;
}

__device__ __forceinline__ float sum_of_part(const float* x, int n) {
  const long long count = n / VECTOR;
  const long long step = (long long)gridDim.x * THREADS;
  long long piece = (long long)blockIdx.x * THREADS + threadIdx.x;
  float sums[UNROLL] = {};
  for (; piece + (UNROLL - 1) * step < count; piece += UNROLL * step) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sums[u] += sum_of_piece(x, piece + u * step);
  }
  for (; piece < count; piece += step) sums[0] += sum_of_piece(x, piece);
  // What is no whole piece.
  const long long rest = count * VECTOR + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) sums[0] += x[rest];
#pragma unroll
  for (int u = 1; u < UNROLL; ++u) sums[0] += sums[u];
  return sums[0];
}

__global__ void __launch_bounds__(THREADS)
    reduction_grid(const float* x, float* partial, unsigned* done, float* total, int n) {
  __shared__ float parts[warps], last_parts[warps];
  __shared__ bool is_last;
  const float sum = sum_of_block(sum_of_part(x, n), parts);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  float of_parts = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += THREADS) of_parts += __ldcg(partial + i);
  of_parts = sum_of_block(of_parts, last_parts);
  if (threadIdx.x == 0) *total = of_parts;
}
