// y[i] = x[0] + ... + x[i] by one block, in double: what the others are held against. Each thread
// has a stretch of its own; what lies before it the threads tell each other.
__global__ void scan_plain(const float* x, float* y, int n) {
  __shared__ double sums[1024];
  const long long part = ((long long)n + 1023) / 1024;
  const long long first = threadIdx.x * part, end = first + part < n ? first + part : n;
  double sum = 0;
  for (long long i = first; i < end; ++i) sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < (int)threadIdx.x; ++i) sum += sums[i];
  for (long long i = first; i < end; ++i) {
    sum += x[i];
    y[i] = (float)sum;
  }
}
