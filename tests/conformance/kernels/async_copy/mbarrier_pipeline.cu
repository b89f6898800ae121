// class: pipeline
// about: one warp makes, three take, over a ring of four places with mbarriers
// arch: sm_90
// grid: [1]
// block: [128]
// args:
//   - u32[384]=bits:93
//   - out:u32[1152]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void arrive(unsigned bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ void wait(unsigned bar, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(bar),
      "r"(parity) : "memory");
}

extern "C" __global__ void mbarrier_pipeline(const unsigned* in, unsigned* out) {
  __shared__ unsigned ring[4][32];
  __shared__ __align__(8) unsigned long long full[4], empty[4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x < 4) {
    init(shared_address(&full[threadIdx.x]), 32);
    init(shared_address(&empty[threadIdx.x]), 96);
  }
  __syncthreads();
  for (int k = 0; k < 12; ++k) {
    const int s = k % 4, parity = k / 4 % 2;
    if (warp == 0) {
      wait(shared_address(&empty[s]), parity ^ 1);
      ring[s][lane] = in[k * 32 + lane] * 5;
      arrive(shared_address(&full[s]));
    } else {
      wait(shared_address(&full[s]), parity);
      out[(k * 3 + warp - 1) * 32 + lane] = ring[s][(lane + warp) % 32] + warp;
      arrive(shared_address(&empty[s]));
    }
  }
}
