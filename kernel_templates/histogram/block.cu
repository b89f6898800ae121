// How often each of 256 values is among x, by one block.

#include "defaults.cuh"

#include "bins.cuh"

__global__ void __launch_bounds__(THREADS) histogram_block(const int* x, unsigned* counts, int n) {
  __shared__ unsigned bins[kBins];
  count_part(x, n, bins);
  for (int i = threadIdx.x; i < kBins; i += THREADS) counts[i] = bins[i];
}
