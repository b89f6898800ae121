// class: freed
// about: reads a buffer that was released before the launch
// grid: [1]
// block: [64]
// args:
//   - freed:u32[64]=iota
//   - u32[64]=iota
//   - out:u32[64]
// fault: freed
// checkers: memcheck
extern "C" __global__ void freed_buffer(const unsigned* old, const unsigned* in, unsigned* out) {
#ifdef FAULT
  in = old;
#endif
  out[threadIdx.x] = in[threadIdx.x];
}
