// class: barrier
// about: lanes come to an aligned instruction while one of their warp still waits
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: barrier
// checkers: none
extern "C" __global__ void aligned_apart(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
  __shared__ __align__(16) unsigned tile[64];
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(bar) : "memory");
  tile[t] = in[t];
  __syncthreads();
  if (t < 32) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
  } else {
    unsigned done = t != 32;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar) : "memory");
#ifndef FAULT
    __syncwarp();
#endif
  }
  unsigned x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(tile + t / 32 * 32 + t % 8 * 4)) : "memory");
  out[t] = x;
}
