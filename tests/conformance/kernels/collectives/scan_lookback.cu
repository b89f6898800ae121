// class: scan
// about: sums across blocks, each waiting for the one before it
// grid: [8]
// block: [64]
// args:
//   - u32[512]=integers:12:0:1000
//   - inout:u32[1]=zeros
//   - inout:u64[8]=zeros
//   - out:u32[512]
extern "C" __global__ void scan_lookback(const unsigned* in, unsigned* ticket, unsigned long long* state,
                                         unsigned* out) {
  __shared__ unsigned block, before, sums[64];
  const int t = threadIdx.x;
  if (t == 0) block = atomicAdd(ticket, 1);
  __syncthreads();
  const unsigned i = block * 64 + t;
  sums[t] = in[i];
  for (int d = 1; d < 64; d *= 2) {
    __syncthreads();
    const unsigned x = t >= d ? sums[t - d] : 0;
    __syncthreads();
    sums[t] += x;
  }
  __syncthreads();
  if (t == 0) {
    unsigned long long previous = 1ull << 32;
    if (block > 0) {
      do previous = atomicAdd(&state[block - 1], 0ull);
      while (previous >> 32 == 0);
    }
    before = (unsigned)previous;
    atomicExch(&state[block], 1ull << 32 | (before + sums[63]));
  }
  __syncthreads();
  out[i] = before + sums[t];
}
