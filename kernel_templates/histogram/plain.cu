// How often each of 256 values is among x: a block a value, which looks at all of x. What the others
// are held against.
__global__ void histogram_plain(const int* x, unsigned* counts, int n) {
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  unsigned seen = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) seen += (x[i] & 255) == (int)blockIdx.x;
  atomicAdd(&count, seen);
  __syncthreads();
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}
