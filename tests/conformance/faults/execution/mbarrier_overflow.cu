// class: sync
// about: more threads arrive in a phase than the mbarrier counts
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[32]=iota
//   - out:u32[64]
// fault: sync
// checkers: none
extern "C" __global__ void mbarrier_overflow(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
  __shared__ unsigned slot[32];
  const auto init = [](unsigned bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
  };
  const auto arrive = [](unsigned bar) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(bar) : "memory");
  };
  const auto wait = [](unsigned bar, unsigned parity) {
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  };
  const unsigned f = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x % 32;
  if (threadIdx.x == 0) init(f, 34);
  __syncthreads();
  if (threadIdx.x < 32) {
    slot[t] = in[t];
    arrive(f);
  }
  __syncthreads();
#ifdef FAULT
  if (threadIdx.x == 0) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0], 3; }" ::"r"(f) : "memory");
#else
  if (threadIdx.x == 0) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0], 2; }" ::"r"(f) : "memory");
#endif
  wait(f, 0);
  out[threadIdx.x] = slot[31 - t];
}
