// class: race
// about: the taker does not wait for the last item
// arch: sm_90
// grid: [1]
// block: [64]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: race
// checkers: racecheck
extern "C" __global__ void mbarrier_no_wait(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full, empty;
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
  const unsigned f = (unsigned)__cvta_generic_to_shared(&full), e = (unsigned)__cvta_generic_to_shared(&empty);
  const int t = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    init(f, 32);
    init(e, 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 0; k < 4; ++k) {
      wait(e, (k + 1) % 2);
      slot[t] = in[k * 32 + t];
      arrive(f);
    }
  } else {
    for (int k = 0; k < 4; ++k) {
#ifdef FAULT
      if (k < 3) wait(f, k % 2);
#else
      wait(f, k % 2);
#endif
      out[k * 32 + t] = slot[31 - t];
      if (k < 3) arrive(e);
    }
  }
}
