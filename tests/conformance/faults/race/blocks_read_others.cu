// class: race
// about: a block reads what another block of the same launch writes
// grid: [4]
// block: [64]
// args:
//   - inout:u32[256]=zeros
//   - out:u32[256]
// fault: race
// checkers: none
extern "C" __global__ void blocks_read_others(unsigned* data, unsigned* out) {
  const int t = threadIdx.x, b = blockIdx.x;
  data[64 * b + t] = b * 64 + t;
#ifdef FAULT
  const int from = (b + 1) % 4;
#else
  const int from = b;
#endif
  __syncthreads();
  out[64 * b + t] = data[64 * from + 63 - t];
}
