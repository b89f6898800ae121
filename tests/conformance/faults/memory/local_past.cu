// class: out_of_bounds
// about: an index from the input leaves the array in local memory
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void local_past(const unsigned* in, unsigned* out) {
  unsigned stack[16];
  for (int i = 0; i < 16; ++i) stack[i] = in[threadIdx.x] + i;
#ifdef FAULT
  const unsigned at = in[threadIdx.x] * 4096;
#else
  const unsigned at = in[threadIdx.x] % 16;
#endif
  out[threadIdx.x] = stack[at] + stack[15 - in[threadIdx.x] % 16];
}
