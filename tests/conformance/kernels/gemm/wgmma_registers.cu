// class: gemm wgmma
// about: m64n8k16 with a from registers and f16 sums, several groups under way
// arch: sm_90a
// grid: [1]
// block: [128]
// args:
//   - f16[64x64]=normal:106
//   - f16[8x64]=normal:107
//   - out:u32[64x4]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// A matrix of 8-row, 16-byte core matrices without swizzle: `across` bytes between those side by side along k,
// `down` between those above each other.
__device__ unsigned long long described(const void* tile, unsigned across, unsigned down) {
  return (shared_address(tile) >> 4 & 0x3fff) | (unsigned long long)(across >> 4) << 16 | (unsigned long long)(down >> 4) << 32;
}

extern "C" __global__ void wgmma_registers(const unsigned* a, const unsigned* b, unsigned* c) {
  __shared__ __align__(128) unsigned bs[256];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int i = t; i < 256; i += 128) bs[i] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  unsigned d[2] = {0, 0}, e[2] = {0, 0};
  unsigned r[4][4];
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) r[k][i] = a[(warp * 16 + lane / 4 + i % 2 * 8) * 32 + k * 8 + i / 2 * 4 + lane % 4];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < 4; k += 2) {
    asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, %6, p, 1, 1, 0;\n}"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(r[k][0]), "r"(r[k][1]), "r"(r[k][2]), "r"(r[k][3]), "l"(described(bs + 64 * k, 128, 1024)) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, %6, p, 1, 1, 0;\n}"
                 : "+r"(e[0]), "+r"(e[1])
                 : "r"(r[k + 1][0]), "r"(r[k + 1][1]), "r"(r[k + 1][2]), "r"(r[k + 1][3]), "l"(described(bs + 64 * k + 64, 128, 1024)) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 1;" : "+r"(d[0]), "+r"(d[1])::"memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+r"(d[0]), "+r"(d[1]), "+r"(e[0]), "+r"(e[1])::"memory");
  for (int i = 0; i < 2; ++i) {
    unsigned sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(d[i]), "r"(e[i]));
    c[(warp * 16 + lane / 4 + i * 8) * 4 + lane % 4] = sum;
  }
}
