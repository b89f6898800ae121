// How often each of 256 values is among x: blocks count their parts in shared memory and add what
// they found to `counts`, which was set to 0 before.

#include "defaults.cuh"

#include "bins.cuh"

__global__ void __launch_bounds__(THREADS) histogram_atomic(const int* x, unsigned* counts, int n) {
  __shared__ unsigned bins[kBins];
  count_part(x, n, bins);
  for (int i = threadIdx.x; i < kBins; i += THREADS)
    if (bins[i] != 0) atomicAdd(&counts[i], bins[i]);
}
