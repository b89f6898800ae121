#pragma once

// The second kernel where SPLIT blocks share the depth of a tile: it adds their sums, which lie in
// `partials` as SPLIT x m x n, in their order, the same each time. SUM_THREADS: of its blocks.

#include "element.cuh"

// Two elements a thread.
__global__ void __launch_bounds__(SUM_THREADS)
    gemm_split_k_sum(const float* partials, Element* C, int m, int n) {
  const long long pairs = (long long)m * n / 2;
  const long long pair = (long long)blockIdx.x * SUM_THREADS + threadIdx.x;
  if (pair >= pairs) return;
  const float2* from = reinterpret_cast<const float2*>(partials) + pair;
  float2 sum = from[0];
#pragma unroll
  for (int part = 1; part < SPLIT; ++part) {
    const float2 next = from[part * pairs];
    sum.x += next.x;
    sum.y += next.y;
  }
  reinterpret_cast<unsigned*>(C)[pair] = pack(sum.x, sum.y);
}
