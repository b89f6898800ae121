// class: race
// about: a block arrives at the other's mbarrier before it can know that it was made
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[64]=iota
//   - out:u32[64]
// fault: race
// checkers: none
extern "C" __global__ void cluster_mbarrier_unmade(const unsigned* in, unsigned* out) {
  __shared__ __align__(8) unsigned long long full;
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
#ifdef FAULT
  __syncthreads();
#else
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  if (blockIdx.x == 1) {
    unsigned other;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(other) : "r"(bar));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
  } else {
    unsigned done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(bar) : "memory");
    out[t] = in[t];
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
