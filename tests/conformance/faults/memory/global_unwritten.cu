// class: uninitialized
// about: adds to a buffer that nobody has set to zero
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: uninitialized
// checkers: initcheck
extern "C" __global__ void global_unwritten(const unsigned* in, unsigned* out) {
#ifdef FAULT
  out[threadIdx.x] += in[threadIdx.x];
#else
  out[threadIdx.x] = in[threadIdx.x];
#endif
}
