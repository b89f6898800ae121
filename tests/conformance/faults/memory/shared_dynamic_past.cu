// class: out_of_bounds
// about: the launch gives less dynamic shared memory than the kernel uses
// grid: [1]
// block: [64]
// shared: 512
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void shared_dynamic_past(const unsigned* in, unsigned* out) {
  extern __shared__ unsigned tile[];
  const int t = threadIdx.x;
#ifdef FAULT
  constexpr int stride = 3;
#else
  constexpr int stride = 2;
#endif
  tile[t * stride] = in[t];
  __syncthreads();
  out[t] = tile[(63 - t) * stride];
}
