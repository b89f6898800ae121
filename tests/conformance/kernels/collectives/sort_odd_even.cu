// class: sort
// about: odd-even transposition sort of 64-bit keys
// grid: [1]
// block: [64]
// args:
//   - u64[128]=bits:16
//   - out:u64[128]
extern "C" __global__ void sort_odd_even(const unsigned long long* in, unsigned long long* out) {
  __shared__ unsigned long long key[128];
  const int t = threadIdx.x;
  key[t] = in[t];
  key[t + 64] = in[t + 64];
  for (int round = 0; round < 128; ++round) {
    __syncthreads();
    const int a = 2 * t + (round & 1), b = a + 1;
    if (b < 128 && key[a] > key[b]) {
      const unsigned long long x = key[a];
      key[a] = key[b];
      key[b] = x;
    }
  }
  __syncthreads();
  out[t] = key[t];
  out[t + 64] = key[t + 64];
}
