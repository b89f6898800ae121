// class: gemm pipeline
// about: two stages of cp.async in front of mma, four warps
// grid: [1]
// block: [128]
// args:
//   - f16[64x96]=normal:67
//   - f16[16x96]=normal:68
//   - out:f32[64x16]
extern "C" __global__ void gemm_cp_async(const unsigned short* a, const unsigned short* b, float* c) {
  __shared__ __align__(16) unsigned short as[2][64][40], bs[2][16][40];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const auto copy = [](unsigned short* to, const unsigned short* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
  };
  const auto fetch = [&](int stage, int k) {
    for (int i = t; i < 256; i += 128) copy(&as[stage][i / 4][i % 4 * 8], a + i / 4 * 96 + k + i % 4 * 8);
    if (t < 64) copy(&bs[stage][t / 4][t % 4 * 8], b + t / 4 * 96 + k + t % 4 * 8);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float d[2][4] = {};
  fetch(0, 0);
  for (int step = 0; step < 3; ++step) {
    const int s = step % 2;
    if (step + 1 < 3) {
      fetch(1 - s, 32 * (step + 1));
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      unsigned x[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"((unsigned)__cvta_generic_to_shared(&as[s][warp * 16 + lane % 16][k + lane / 16 * 8])) : "memory");
      unsigned y[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                   : "r"((unsigned)__cvta_generic_to_shared(&bs[s][lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8])) : "memory");
      for (int n = 0; n < 2; ++n)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * n]), "r"(y[2 * n + 1]));
    }
    __syncthreads();
  }
  for (int n = 0; n < 2; ++n) {
    float* o = c + (warp * 16 + lane / 4) * 16 + n * 8 + lane % 4 * 2;
    o[0] = d[n][0];
    o[1] = d[n][1];
    o[128] = d[n][2];
    o[129] = d[n][3];
  }
}
