// A block counts in shared memory, in COPIES copies of all bins, and adds what it found to `bins`
// in the end. The copies of one bin follow one another, so neighbours in a warp that find the same
// value count it in different banks. BYTES: how many elements are read in one access.
struct alignas(BYTES) Chunk { unsigned char v[BYTES]; };

__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned counts[256 * COPIES];
  for (int i = threadIdx.x; i < 256 * COPIES; i += THREADS) counts[i] = 0;
  __syncthreads();

  unsigned* mine = counts + threadIdx.x % COPIES;
  const int thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  const int chunks = n / BYTES;
  for (int i = thread; i < chunks; i += threads) {
    const Chunk chunk = reinterpret_cast<const Chunk*>(x)[i];
#pragma unroll
    for (int j = 0; j < BYTES; ++j) atomicAdd(&mine[chunk.v[j] * COPIES], 1u);
  }
  for (int i = chunks * BYTES + thread; i < n; i += threads) atomicAdd(&mine[x[i] * COPIES], 1u);
  __syncthreads();

  for (int bin = threadIdx.x; bin < 256; bin += THREADS) {
    unsigned count = 0;
    for (int copy = 0; copy < COPIES; ++copy) count += counts[bin * COPIES + copy];
    if (count > 0) atomicAdd(&bins[bin], count);
  }
}
