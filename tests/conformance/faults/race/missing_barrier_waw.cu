// class: race
// about: two warps write different values to one place
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: race
// checkers: racecheck
extern "C" __global__ void missing_barrier_waw(const unsigned* in, unsigned* out) {
  __shared__ unsigned last;
  const int t = threadIdx.x;
#ifdef FAULT
  if (t % 32 == 0) last = in[t];
#else
  if (t == 32) last = in[t];
#endif
  __syncthreads();
  out[t] = last;
}
