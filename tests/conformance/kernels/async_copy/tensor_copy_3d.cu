// class: tensor copy
// about: boxes of a volume, NaN outside
// arch: sm_90
// grid: [3]
// block: [128]
// args:
//   - tmap:f32[5x6x16]=normal:86,box=4x4x8,nan
//   - out:u32[384]
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
__device__ void box(unsigned to, const Map* map, unsigned bar, int c0, int c1, int c2) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
                   "r"(to), "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

extern "C" __global__ void tensor_copy_3d(const __grid_constant__ Map map, unsigned* out) {
  __shared__ __align__(128) unsigned tile[4][4][8];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x;
  const unsigned bar = shared_address(&full);
  if (t == 0) {
    init(bar, 1);
    show_barriers();
    expect(bar, 512);
    box(shared_address(tile), &map, bar, (int)blockIdx.x * 8 - 4, 3, 2);
  }
  __syncthreads();
  wait(bar, 0);
  const unsigned x = tile[t / 32][t / 8 % 4][t % 8];
  // The payload of a NaN is not what is looked at here.
  out[blockIdx.x * 128 + t] = (x & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : x;
}
