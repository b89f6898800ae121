// class: out_of_bounds
// about: writes past the end of a static array in shared memory
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void shared_static_past(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
#ifdef FAULT
  const int to = t + 1;
#else
  const int to = (t + 1) % 64;
#endif
  tile[to] = in[t];
  __syncthreads();
  out[t] = t > 0 ? tile[t] : 0;
}
