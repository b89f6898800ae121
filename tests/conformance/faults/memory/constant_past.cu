// class: out_of_bounds
// about: reads far past the end of a table in constant memory
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
__constant__ unsigned table[16] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};

extern "C" __global__ void constant_past(const unsigned* in, unsigned* out) {
#ifdef FAULT
  const unsigned at = in[threadIdx.x] * 4096;
#else
  const unsigned at = in[threadIdx.x] % 16;
#endif
  out[threadIdx.x] = table[at];
}
