// A block has a row: each thread looks at its columns, then halves of the block are compared. Of
// equal elements the first wins, as in the plain kernel.
__global__ void argmax(const float* x, float* value, long long* index, int rows, int columns) {
  __shared__ float most[THREADS];
  __shared__ int where[THREADS];
  const float* row = x + blockIdx.x * columns;
  int best = -1;
  for (int i = threadIdx.x; i < columns; i += THREADS)
    if (best < 0 || row[i] > row[best]) best = i;
  most[threadIdx.x] = best < 0 ? 0 : row[best];
  where[threadIdx.x] = best;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    const int other = threadIdx.x + half;
    if (threadIdx.x >= half || where[other] < 0) continue;
    const bool wins = where[threadIdx.x] < 0 || most[other] > most[threadIdx.x] ||
                      (most[other] == most[threadIdx.x] && where[other] < where[threadIdx.x]);
    if (!wins) continue;
    most[threadIdx.x] = most[other];
    where[threadIdx.x] = where[other];
  }
  if (threadIdx.x != 0) return;
  value[blockIdx.x] = most[0];
  index[blockIdx.x] = where[0];
}
