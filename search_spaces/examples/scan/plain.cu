// One block, whose threads have a stretch of elements each: they add up theirs, tell each other,
// and go through them again.
__global__ void plain(const int* x, int* y, int n) {
  __shared__ int sums[256];
  const int each = n / 256 + 1;
  const int first = min(n, each * (int)threadIdx.x), end = min(n, first + each);
  int sum = 0;
  for (int i = first; i < end; ++i) sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int other = 0; other < threadIdx.x; ++other) sum += sums[other];
  for (int i = first; i < end; ++i) y[i] = sum += x[i];
}
