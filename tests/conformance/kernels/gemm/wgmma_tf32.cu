// class: gemm wgmma
// about: m64n8k8 of tf32
// arch: sm_90a
// grid: [1]
// block: [128]
// args:
//   - f32[64x16]=normal:100
//   - f32[8x16]=normal:101
//   - out:f32[64x8]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// A matrix of 8-row, 16-byte core matrices without swizzle: `across` bytes between those side by side along k,
// `down` between those above each other.
__device__ unsigned long long described(const void* tile, unsigned across, unsigned down) {
  return (shared_address(tile) >> 4 & 0x3fff) | (unsigned long long)(across >> 4) << 16 | (unsigned long long)(down >> 4) << 32;
}

extern "C" __global__ void wgmma_tf32(const unsigned* a, const unsigned* b, float* c) {
  // Both with k inside, as core matrices: [rows / 8][4][8 rows][16 bytes].
  __shared__ __align__(128) unsigned as[1024], bs[128];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int i = t; i < 1024; i += 128) as[i] = a[i];
  for (int i = t; i < 128; i += 128) bs[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < 2; ++k)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, p, 1, 1;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(described(as + 64 * k, 128, 512)), "l"(described(bs + 64 * k, 128, 512)), "r"(k)
        : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  for (int j = 0; j < 1; ++j) {
    float* o = c + (warp * 16 + lane / 4) * 8 + j * 8 + lane % 4 * 2;
    o[0] = d[4 * j];
    o[1] = d[4 * j + 1];
    o[64] = d[4 * j + 2];
    o[65] = d[4 * j + 3];
  }
}
