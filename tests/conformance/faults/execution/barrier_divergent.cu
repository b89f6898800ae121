// class: barrier
// about: half of a warp meets at a barrier, the other half at another
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: barrier
// checkers: synccheck
extern "C" __global__ void barrier_divergent(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[t];
#ifdef FAULT
  if (t % 32 < 16) {
    asm volatile("bar.sync 0;" ::: "memory");
    out[t] = tile[63 - t];
  } else {
    asm volatile("bar.sync 0;" ::: "memory");
    out[t] = tile[t] + 1;
  }
#else
  __syncthreads();
  out[t] = t % 32 < 16 ? tile[63 - t] : tile[t] + 1;
#endif
}
