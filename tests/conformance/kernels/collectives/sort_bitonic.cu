// class: sort
// about: a bitonic sort in shared memory
// grid: [2]
// block: [256]
// args:
//   - i32[1024]=bits:13
//   - out:i32[1024]
extern "C" __global__ void sort_bitonic(const int* in, int* out) {
  __shared__ int key[512];
  const int t = threadIdx.x;
  key[t] = in[blockIdx.x * 512 + t];
  key[t + 256] = in[blockIdx.x * 512 + t + 256];
  for (int size = 2; size <= 512; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int a = 2 * t - (t & (stride - 1)), b = a + stride;
      const bool up = (a & size) == 0;
      const int x = key[a], y = key[b];
      if (x > y == up) {
        key[a] = y;
        key[b] = x;
      }
    }
  }
  __syncthreads();
  out[blockIdx.x * 512 + t] = key[t];
  out[blockIdx.x * 512 + t + 256] = key[t + 256];
}
