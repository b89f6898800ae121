// class: race
// about: blocks add to one place without an atomic
// grid: [4]
// block: [32]
// args:
//   - u32[128]=iota
//   - inout:u32[1]=zeros
// fault: race
// checkers: none
extern "C" __global__ void blocks_write_same(const unsigned* in, unsigned* sum) {
  unsigned x = in[blockIdx.x * 32 + threadIdx.x];
  x = __reduce_add_sync(0xffffffffu, x);
  if (threadIdx.x == 0) {
#ifdef FAULT
    *sum += x;
#else
    atomicAdd(sum, x);
#endif
  }
}
