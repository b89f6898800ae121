// class: race
// about: a fence of the cluster's scope before what blocks of other clusters are to see
// arch: sm_90
// grid: [4]
// block: [32]
// args:
//   - u32[128]=iota
//   - inout:u32[4]=zeros
//   - inout:u32[1]=zeros
//   - out:u32[1]
// fault: race
// checkers: none
extern "C" __global__ void fence_scope(const unsigned* in, unsigned* results, unsigned* done, unsigned* out) {
  const unsigned x = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x != 0) return;
  results[blockIdx.x] = x;
#ifdef FAULT
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
  if (atomicAdd(done, 1) == gridDim.x - 1) {
    __threadfence();
    unsigned sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += results[b];
    *out = sum;
  }
}
