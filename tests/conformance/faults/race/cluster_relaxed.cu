// class: race
// about: the arrival at the cluster's barrier is relaxed, which publishes nothing
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: race
// checkers: none
extern "C" __global__ void cluster_relaxed(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
#ifdef FAULT
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
  asm volatile("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  unsigned other, x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"((unsigned)__cvta_generic_to_shared(tile + 63 - t)), "r"(1 - blockIdx.x % 2));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(other) : "memory");
  // Nothing need be seen of the other block's reads: it must only have made them.
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x * 64 + t] = x;
}
