// class: pipeline
// about: a producer warp with bulk copies, two consumer warps, three stages
// arch: sm_90
// grid: [1]
// block: [96]
// args:
//   - f32[640]=normal:94
//   - out:f32[64]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void arrive(unsigned bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ void expect(unsigned bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ void wait(unsigned bar, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(bar),
      "r"(parity) : "memory");
}
__device__ void bulk(unsigned to, const void* from, unsigned bytes, unsigned bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(bar) : "memory");
}

extern "C" __global__ void bulk_pipeline(const float* in, float* out) {
  __shared__ __align__(128) float ring[3][64];
  __shared__ __align__(8) unsigned long long full[3], empty[3];
  const int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < 3; ++s) {
      init(shared_address(&full[s]), 1);
      init(shared_address(&empty[s]), 64);
    }
    show_barriers();
  }
  __syncthreads();
  if (t >= 64) {
    if (t == 64)
      for (int k = 0; k < 10; ++k) {
        const int s = k % 3;
        wait(shared_address(&empty[s]), k / 3 % 2 ^ 1);
        expect(shared_address(&full[s]), 256);
        bulk(shared_address(ring[s]), in + 64 * k, 256, shared_address(&full[s]));
      }
  } else {
    float sum = 0;
    for (int k = 0; k < 10; ++k) {
      const int s = k % 3;
      wait(shared_address(&full[s]), k / 3 % 2);
      sum = sum * 0.5f + ring[s][63 - t];
      arrive(shared_address(&empty[s]));
    }
    out[t] = sum;
  }
}
