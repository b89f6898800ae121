// class: race
// about: one lane waits for its warp, and the others have not met it before they read
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: race
// checkers: none
extern "C" __global__ void wait_of_one_lane(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
  __shared__ unsigned slot[32];
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(bar) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    slot[t] = in[t];
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
  } else {
    unsigned done = t != 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar) : "memory");
#ifndef FAULT
    __syncwarp();
#endif
    out[t] = slot[31 - t];
  }
}
