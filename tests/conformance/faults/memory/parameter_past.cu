// class: out_of_bounds
// about: an index leaves an array in the parameters
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:i32[64]
//   - struct:i32[8]=iota
// fault: out_of_bounds
// checkers: memcheck
struct Weights {
  int value[8];
};

extern "C" __global__ void parameter_past(const unsigned* in, int* out, const __grid_constant__ Weights weights) {
#ifdef FAULT
  const unsigned at = in[threadIdx.x] * 1024;
#else
  const unsigned at = in[threadIdx.x] % 8;
#endif
  out[threadIdx.x] = weights.value[at];
}
