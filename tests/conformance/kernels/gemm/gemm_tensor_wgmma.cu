// class: gemm pipeline
// about: a producer warp with tensor copies, a warpgroup with wgmma, two stages
// arch: sm_90a
// grid: [2, 2]
// block: [256]
// args:
//   - tmap:bf16[128x256]=normal:110,box=64x64,swizzle=128
//   - tmap:bf16[16x256]=normal:111,box=8x64,swizzle=128
//   - out:f32[128x16]
struct alignas(64) Map {
  char bytes[128];
};
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
__device__ void box(unsigned to, const Map* map, unsigned bar, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
                   "r"(to), "l"(map), "r"(bar), "r"(c0), "r"(c1) : "memory");
}

extern "C" __global__ void gemm_tensor_wgmma(const __grid_constant__ Map am, const __grid_constant__ Map bm, float* c) {
  __shared__ __align__(1024) unsigned short as[2][64 * 64], bs[2][8 * 64];
  __shared__ __align__(8) unsigned long long full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0) {
    for (int s = 0; s < 2; ++s) {
      init(shared_address(&full[s]), 1);
      init(shared_address(&empty[s]), 128);
    }
    show_barriers();
  }
  __syncthreads();
  if (t >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 128)
      for (int k = 0; k < 4; ++k) {
        const int s = k % 2;
        wait(shared_address(&empty[s]), k / 2 % 2 ^ 1);
        expect(shared_address(&full[s]), 64 * 128 + 8 * 128);
        box(shared_address(as[s]), &am, shared_address(&full[s]), 64 * k, 64 * (int)blockIdx.y);
        box(shared_address(bs[s]), &bm, shared_address(&full[s]), 64 * k, 8 * (int)blockIdx.x);
      }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
  const int lane = t % 32, warp = t / 32;
  const unsigned long long common = 1ull << 62 | 1024ull >> 4 << 32 | 1ull << 16;
  float d[4] = {};
  for (int k = 0; k < 4; ++k) {
    const int s = k % 2;
    wait(shared_address(&full[s]), k / 2 % 2);
    asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    for (int i = 0; i < 4; ++i)
      asm volatile(
          "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "l"(common | (shared_address(as[s]) + 32 * i) >> 4), "l"(common | (shared_address(bs[s]) + 32 * i) >> 4) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    arrive(shared_address(&empty[s]));
  }
  float* o = c + (64 * blockIdx.y + warp * 16 + lane / 4) * 16 + 8 * blockIdx.x + lane % 4 * 2;
  o[0] = d[0];
  o[1] = d[1];
  o[128] = d[2];
  o[129] = d[3];
}
