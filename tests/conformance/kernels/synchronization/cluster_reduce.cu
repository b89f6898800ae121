// class: cluster
// about: four blocks sum over each other's shared memory
// arch: sm_90
// grid: [8]
// block: [64]
// cluster: [4]
// args:
//   - f32[512]=normal:90
//   - out:f32[512]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
__device__ unsigned at_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

extern "C" __global__ void cluster_reduce(const float* in, float* out) {
  __shared__ float part[64];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 64 + t];
  meet();
  float sum = 0;
  for (unsigned r = 0; r < 4; ++r) {
    float x;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at_rank(shared_address(part + (t + r) % 64), r)) : "memory");
    sum += x * (r + 1);
  }
  meet();
  out[blockIdx.x * 64 + t] = sum;
}
