// class: gemm mma
// about: m16n8k16 of f16 with f16 sums
// grid: [1]
// block: [32]
// args:
//   - f16[16x64]=normal:65
//   - f16[8x64]=normal:66
//   - out:u32[16x4]
extern "C" __global__ void gemm_mma_f16_sum(const unsigned* a, const unsigned* b, unsigned* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned* pa = a + g * 32 + t;
  const unsigned* pb = b + g * 32 + t;
  unsigned d[2] = {};
  for (int k = 0; k < 32; k += 8)
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(pa[k]), "r"(pa[256 + k]), "r"(pa[k + 4]), "r"(pa[260 + k]), "r"(pb[k]), "r"(pb[k + 4]));
  c[g * 4 + t] = d[0];
  c[(g + 8) * 4 + t] = d[1];
}
