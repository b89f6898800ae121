// class: deadlock
// about: one warp waits at a barrier that the others never come to
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: deadlock
// checkers: synccheck
extern "C" __global__ void barrier_some_warps(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
#ifdef FAULT
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
#else
  asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
  out[t] = tile[63 - t];
}
