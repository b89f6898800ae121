// class: race
// about: a block reads in global memory what the other block of its cluster writes
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[128]=iota
//   - inout:u32[128]=zeros
//   - out:u32[128]
// fault: race
// checkers: none
extern "C" __global__ void cluster_global(const unsigned* in, unsigned* work, unsigned* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  work[i] = in[i] * 3;
#ifdef FAULT
  __syncthreads();
#else
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  out[i] = work[127 - i];
}
