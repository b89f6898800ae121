// class: trap
// about: an assertion of the kernel fails and stops it
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: trap
// checkers: memcheck
extern "C" __global__ void trap(const unsigned* in, unsigned* out) {
#ifdef FAULT
  const unsigned most = 62;
#else
  const unsigned most = 63;
#endif
  if (in[threadIdx.x] > most) __trap();
  out[threadIdx.x] = in[threadIdx.x];
}
