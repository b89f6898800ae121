// class: cluster
// about: one block copies a box into the shared memory of both
// arch: sm_90
// grid: [4]
// block: [128]
// cluster: [2]
// args:
//   - tmap:u32[8x32]=bits:89,box=4x16
//   - out:u32[512]
struct alignas(64) Map {
  char bytes[128];
};
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
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
__device__ unsigned at_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

extern "C" __global__ void tensor_multicast(const __grid_constant__ Map map, unsigned* out) {
  __shared__ __align__(128) unsigned tile[8][16];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x;
  const unsigned bar = shared_address(&full);
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) {
    init(bar, 1);
    show_barriers();
    expect(bar, 512);
  }
  meet();
  if (t == 0)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
                     "r"(shared_address(tile[4 * rank])), "l"(&map), "r"(16 * (int)(blockIdx.x / 2)), "r"(4 * (int)rank), "r"(bar), "h"((unsigned short)3) : "memory");
  wait(bar, 0);
  out[128 * blockIdx.x + t] = tile[t / 16][t % 16] + rank;
  meet();
}
