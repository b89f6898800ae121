// class: out_of_bounds
// about: writes in front of the first element
// grid: [1]
// block: [64]
// args:
//   - out:u32[64]
// fault: out_of_bounds
// checkers: memcheck
extern "C" __global__ void global_write_before(unsigned* out) {
  int i = threadIdx.x;
#ifdef FAULT
  i -= 1;
#endif
  out[i] = threadIdx.x;
}
