// class: race
// about: a tile is written again while a wgmma may still read it
// arch: sm_90a
// grid: [1]
// block: [128]
// args:
//   - f16[64x16]=normal:14
//   - f16[8x16]=normal:15
//   - out:f32[64x8]
// fault: race
// checkers: racecheck
extern "C" __global__ void wgmma_tile_reuse(const unsigned* a, const unsigned* b, float* c) {
  // A is 64x16 and B is 8x16, both f16 with k inside, as core matrices: [rows / 8][2][8][8].
  __shared__ __align__(128) unsigned as[512], bs[64];
  const auto described = [](const void* tile, unsigned long long stride) {
    const unsigned long long at = (unsigned)__cvta_generic_to_shared(tile);
    // No swizzle: core matrices of 8 rows of 16 bytes; 128 bytes between those side by side, and
    // `stride` between those above each other.
    return (at >> 4 & 0x3fff) | 8ull << 16 | (stride >> 4) << 32;
  };
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int i = t; i < 512; i += 128) as[i] = a[i];
  if (t < 64) bs[t] = b[t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned long long da = described(as, 256), db = described(bs, 256);
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db) : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifndef FAULT
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  __syncthreads();
#endif
  as[t] = t;
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  float* o = c + (warp * 16 + lane / 4) * 8 + lane % 4 * 2;
  o[0] = d[0];
  o[1] = d[1];
  o[64] = d[2];
  o[65] = d[3];
}
