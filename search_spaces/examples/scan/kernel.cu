// Each block scans a tile of THREADS * ITEMS elements by itself, and writes the tile's sum to
// `sums`. What lies before a tile is known when all blocks are done: a second kernel adds it.
constexpr int kTile = THREADS * ITEMS;

// The sum of the values of this thread and those before it; `total`: of all of the block's.
__device__ int scan_block(int value, int& total) {
  __shared__ int sums[2][THREADS];
  int side = 0;
  sums[side][threadIdx.x] = value;
  for (int distance = 1; distance < THREADS; distance *= 2) {
    __syncthreads();
    if (threadIdx.x >= distance) value += sums[side][threadIdx.x - distance];
    side = 1 - side;
    sums[side][threadIdx.x] = value;
  }
  __syncthreads();
  total = sums[side][THREADS - 1];
  return value;
}

__global__ void scan_tiles(const int* x, int* y, int* sums, int n) {
  const int first = blockIdx.x * kTile + threadIdx.x * ITEMS;
  int items[ITEMS], sum = 0, total;
  for (int i = 0; i < ITEMS; ++i) items[i] = sum += first + i < n ? x[first + i] : 0;
  const int before = scan_block(sum, total) - sum;
  for (int i = 0; i < ITEMS; ++i)
    if (first + i < n) y[first + i] = before + items[i];
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void add_before(int* y, const int* sums, int n) {
  int sum = 0, before;
  for (int tile = threadIdx.x; tile < blockIdx.x; tile += THREADS) sum += sums[tile];
  scan_block(sum, before);
  for (int i = threadIdx.x; i < kTile; i += THREADS)
    if (blockIdx.x * kTile + i < n) y[blockIdx.x * kTile + i] += before;
}
