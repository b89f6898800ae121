// class: deadlock
// about: one block of a cluster waits for a barrier that the other never arrives at
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: deadlock
// checkers: none
extern "C" __global__ void cluster_one_missing(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
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
  const int t = threadIdx.x;
  if (t == 0) init(f, 64);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#ifdef FAULT
  const bool meets = blockIdx.x == 0;
#else
  const bool meets = true;
#endif
  if (meets) asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  // Each block arrives at the mbarrier of the other.
  unsigned other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(f), "r"(1 - blockIdx.x % 2));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
  wait(f, 0);
  out[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + t];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
