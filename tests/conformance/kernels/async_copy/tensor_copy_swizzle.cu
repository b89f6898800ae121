// class: tensor copy
// about: the three swizzles, as they lie in shared memory
// arch: sm_90
// grid: [1]
// block: [128]
// args:
//   - tmap:u16[32x64]=bits:83,box=16x16,swizzle=32
//   - tmap:u16[32x64]=bits:84,box=16x32,swizzle=64
//   - tmap:u16[32x128]=bits:85,box=16x64,swizzle=128
//   - out:u32[1536]
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
__device__ void box(unsigned to, const Map* map, unsigned bar, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
                   "r"(to), "l"(map), "r"(bar), "r"(c0), "r"(c1) : "memory");
}

extern "C" __global__ void tensor_copy_swizzle(const __grid_constant__ Map narrow, const __grid_constant__ Map middle, const __grid_constant__ Map wide, unsigned* out) {
  __shared__ __align__(1024) unsigned tile[3][512];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x;
  const unsigned bar = shared_address(&full);
  for (int i = t; i < 1536; i += 128) tile[i / 512][i % 512] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (t == 0) {
    init(bar, 1);
    show_barriers();
  }
  __syncthreads();
  if (t == 0) {
    expect(bar, 512 + 1024 + 2048);
    box(shared_address(tile[0]), &narrow, bar, 16, 3);
    box(shared_address(tile[1]), &middle, bar, 0, 5);
    box(shared_address(tile[2]), &wide, bar, 64, 1);
  }
  wait(bar, 0);
  for (int i = t; i < 1536; i += 128) out[i] = tile[i / 512][i % 512];
}
