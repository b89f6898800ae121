// class: race
// about: what a block wrote for the other is announced by an arrival of its own block's scope
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: race
// checkers: none
extern "C" __global__ void mbarrier_scope(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
  __shared__ unsigned got[64];
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(bar) : "memory");
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  unsigned there, other, done = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(got + 63 - t)), "r"(1 - blockIdx.x % 2));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(bar), "r"(1 - blockIdx.x % 2));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(in[blockIdx.x * 64 + t]) : "memory");
#ifdef FAULT
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
#else
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
#endif
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(bar) : "memory");
  out[blockIdx.x * 64 + t] = got[t];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
