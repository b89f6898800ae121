// class: gemm wgmma
// about: m64n64k16 whose tiles came by tensor copies with 128-byte swizzle, b by rows of n
// arch: sm_90a
// grid: [1]
// block: [128]
// args:
//   - tmap:f16[64x64]=normal:108,box=64x64,swizzle=128
//   - tmap:f16[64x64]=normal:109,box=64x64,swizzle=128
//   - out:f32[64x64]
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

extern "C" __global__ void wgmma_swizzle(const __grid_constant__ Map am, const __grid_constant__ Map bm, float* c) {
  __shared__ __align__(1024) unsigned short as[64 * 64], bs[64 * 64];
  __shared__ __align__(8) unsigned long long full;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const unsigned bar = shared_address(&full);
  if (t == 0) {
    init(bar, 1);
    show_barriers();
    expect(bar, 16384);
    box(shared_address(as), &am, bar, 0, 0);
    box(shared_address(bs), &bm, bar, 0, 0);
  }
  __syncthreads();
  wait(bar, 0);
  float d[32] = {};
  // 128-byte swizzle: 1024 bytes between groups of 8 rows.
  const unsigned long long common = 1ull << 62 | 1024ull >> 4 << 32 | 1ull << 16;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < 4; ++k) {
    const unsigned long long da = common | (shared_address(as) + 32 * k) >> 4;
    // b is n inside: 16 rows of k are two groups of 8 rows.
    const unsigned long long db = common | (shared_address(bs) + 2048 * k) >> 4;
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(da), "l"(db) : "memory");
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])::"memory");
  for (int j = 0; j < 8; ++j) {
    float* o = c + (warp * 16 + lane / 4) * 64 + j * 8 + lane % 4 * 2;
    o[0] = d[4 * j];
    o[1] = d[4 * j + 1];
    o[512] = d[4 * j + 2];
    o[513] = d[4 * j + 3];
  }
}
