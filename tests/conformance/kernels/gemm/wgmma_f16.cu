// class: gemm wgmma
// about: m64n16k16 of f16 into f32, the first step without sums before it
// arch: sm_90a
// grid: [1]
// block: [128]
// args:
//   - f16[64x32]=normal:96
//   - f16[16x32]=normal:97
//   - out:f32[64x16]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// A matrix of 8-row, 16-byte core matrices without swizzle: `across` bytes between those side by side along k,
// `down` between those above each other.
__device__ unsigned long long described(const void* tile, unsigned across, unsigned down) {
  return (shared_address(tile) >> 4 & 0x3fff) | (unsigned long long)(across >> 4) << 16 | (unsigned long long)(down >> 4) << 32;
}

extern "C" __global__ void wgmma_f16(const unsigned* a, const unsigned* b, float* c) {
  // Both with k inside, as core matrices: [rows / 8][4][8 rows][16 bytes].
  __shared__ __align__(128) unsigned as[1024], bs[256];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int i = t; i < 1024; i += 128) as[i] = a[i];
  for (int i = t; i < 256; i += 128) bs[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[8] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < 2; ++k)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "l"(described(as + 64 * k, 128, 512)), "l"(described(bs + 64 * k, 128, 512)), "r"(k)
        : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])::"memory");
  for (int j = 0; j < 2; ++j) {
    float* o = c + (warp * 16 + lane / 4) * 16 + j * 8 + lane % 4 * 2;
    o[0] = d[4 * j];
    o[1] = d[4 * j + 1];
    o[128] = d[4 * j + 2];
    o[129] = d[4 * j + 3];
  }
}
