// class: bulk
// about: a bulk copy in, a sum, a bulk copy out
// arch: sm_90
// grid: [3]
// block: [128]
// args:
//   - u32[768]=bits:80
//   - out:u32[768]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory"); }
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

extern "C" __global__ void bulk_copy(const unsigned* in, unsigned* out) {
  __shared__ __align__(128) unsigned tile[256];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x;
  const unsigned bar = shared_address(&full);
  if (t == 0) {
    init(bar, 1);
    show_barriers();
  }
  __syncthreads();
  if (t == 0) {
    expect(bar, 1024);
    bulk(shared_address(tile), in + 256 * blockIdx.x, 1008, bar);
    bulk(shared_address(tile + 252), in + 256 * blockIdx.x + 252, 16, bar);
  }
  wait(bar, 0);
  const unsigned x = tile[t] * 3 + tile[255 - t], y = tile[t + 128] ^ tile[127 - t];
  __syncthreads();
  tile[t] = x;
  tile[t + 128] = y;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out + 256 * blockIdx.x), "r"(shared_address(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
