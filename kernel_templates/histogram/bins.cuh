// What the histograms share.
#pragma once

constexpr int kBins = 256;

// Counts the block's part of x in `bins`, which nobody has set yet.
__device__ __forceinline__ void count_part(const int* x, int n, unsigned (&bins)[kBins]) {
  for (int i = threadIdx.x; i < kBins; i += THREADS) bins[i] = 0;
  __syncthreads();
  const long long step = (long long)gridDim.x * THREADS;
  for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
    atomicAdd(&bins[x[i] & (kBins - 1)], 1u);
  __syncthreads();
}
