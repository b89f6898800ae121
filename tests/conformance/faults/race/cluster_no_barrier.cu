// class: race
// about: reads the shared memory of the other block without having met
// arch: sm_90
// grid: [2]
// block: [64]
// cluster: [2]
// args:
//   - u32[128]=iota
//   - out:u32[128]
// fault: race
// checkers: racecheck
extern "C" __global__ void cluster_no_barrier(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
#ifdef FAULT
  __syncthreads();
#else
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
  unsigned other, x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"((unsigned)__cvta_generic_to_shared(tile + 63 - t)), "r"(1 - blockIdx.x % 2));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(other) : "memory");
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  out[blockIdx.x * 64 + t] = x;
}
