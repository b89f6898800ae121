// class: tensor copy
// about: boxes of a matrix, over its edges on all sides, where zeros come in
// arch: sm_90
// grid: [3, 2]
// block: [128]
// args:
//   - tmap:f32[30x68]=normal:82,box=16x32
//   - out:f32[6x4x512]
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

extern "C" __global__ void tensor_copy_2d(const __grid_constant__ Map map, float* out) {
  __shared__ __align__(128) float tile[16][32];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x;
  const unsigned bar = shared_address(&full);
  if (t == 0) {
    init(bar, 1);
    show_barriers();
  }
  __syncthreads();
  for (int k = 0; k < 4; ++k) {
    if (t == 0) {
      expect(bar, 2048);
      box(shared_address(tile), &map, bar, (int)blockIdx.x * 32 - 8 + 4 * k, (int)blockIdx.y * 16 - 5 * k);
    }
    wait(bar, k & 1);
    float* to = out + ((blockIdx.y * gridDim.x + blockIdx.x) * 4 + k) * 512;
    for (int i = t; i < 512; i += 128) to[i] = tile[i / 32][i % 32];
    __syncthreads();
  }
}
