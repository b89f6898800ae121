// How often each of 256 values is among x: each block leaves the counts of its part in `parts`, which
// is BLOCKS x 256, and a second kernel adds them. MERGE_THREADS: of a block there, a thread a value.

#include "defaults.cuh"

#include "bins.cuh"

__global__ void __launch_bounds__(THREADS) histogram_parts(const int* x, unsigned* parts, int n) {
  __shared__ unsigned bins[kBins];
  count_part(x, n, bins);
  for (int i = threadIdx.x; i < kBins; i += THREADS)
    parts[(long long)blockIdx.x * kBins + i] = bins[i];
}

__global__ void __launch_bounds__(MERGE_THREADS)
    histogram_merge(const unsigned* parts, unsigned* counts) {
  const int bin = blockIdx.x * MERGE_THREADS + threadIdx.x;
  unsigned count = 0;
  for (int part = 0; part < BLOCKS; ++part) count += parts[part * kBins + bin];
  counts[bin] = count;
}
