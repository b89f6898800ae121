// class: race
// about: a block announces its result before it is sure to be seen
// grid: [4]
// block: [32]
// args:
//   - u32[128]=iota
//   - inout:u32[4]=zeros
//   - inout:u32[1]=zeros
//   - out:u32[1]
// fault: race
// checkers: none
extern "C" __global__ void flag_without_fence(const unsigned* in, unsigned* results, unsigned* done, unsigned* out) {
  const unsigned x = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x != 0) return;
  results[blockIdx.x] = x;
#ifndef FAULT
  __threadfence();
#endif
  if (atomicAdd(done, 1) == gridDim.x - 1) {
    __threadfence();
    unsigned sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += ((volatile unsigned*)results)[b];
    *out = sum;
  }
}
