// class: barrier
// about: lanes shuffle with a mask that does not name them
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: barrier
// checkers: synccheck
extern "C" __global__ void shuffle_member(const unsigned* in, unsigned* out) {
  const unsigned x = in[threadIdx.x];
#ifdef FAULT
  const unsigned members = 0x0000ffffu;
#else
  const unsigned members = 0xffffffffu;
#endif
  out[threadIdx.x] = __shfl_xor_sync(members, x, 1);
}
