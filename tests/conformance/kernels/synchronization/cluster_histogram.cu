// class: cluster
// about: a histogram spread over the shared memory of two blocks, by atomics from both
// arch: sm_90
// grid: [4]
// block: [128]
// cluster: [2]
// args:
//   - u8[4096]=bits:91
//   - out:u32[512]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
__device__ unsigned at_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

extern "C" __global__ void cluster_histogram(const unsigned char* in, unsigned* out) {
  __shared__ unsigned counts[128];
  const int t = threadIdx.x;
  counts[t] = 0;
  meet();
  for (int i = 0; i < 8; ++i) {
    const unsigned key = in[(blockIdx.x * 8 + i) * 128 + t];
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(at_rank(shared_address(counts + key % 128), key / 128)) : "memory");
  }
  meet();
  out[blockIdx.x * 128 + t] = counts[t];
}
