// class: sync
// about: an mbarrier is used that nobody has initialized
// arch: sm_90
// grid: [1]
// block: [32]
// args:
//   - u32[32]=iota
//   - out:u32[32]
// fault: sync
// checkers: none
extern "C" __global__ void mbarrier_not_made(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full[2];
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
  const unsigned f = (unsigned)__cvta_generic_to_shared(full);
  const int t = threadIdx.x;
  if (t == 0) {
    init(f, 32);
#ifndef FAULT
    init(f + 8, 32);
#endif
  }
  __syncwarp();
  slot[t] = in[t];
  arrive(f);
  wait(f, 0);
  const unsigned x = slot[31 - t];
  arrive(f + 8);
  wait(f + 8, 0);
  slot[t] = x;
  out[t] = x;
}
