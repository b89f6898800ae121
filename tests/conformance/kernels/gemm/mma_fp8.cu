// class: gemm mma
// about: m16n8k32 of e4m3 and e5m2
// arch: sm_89
// grid: [1]
// block: [32]
// args:
//   - e4m3[16x64]=normal:112
//   - e4m3[8x64]=normal:113
//   - out:f32[16x8]
extern "C" __global__ void mma_fp8(const unsigned* a, const unsigned* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned* pa = a + g * 16 + t;
  const unsigned* pb = b + g * 16 + t;
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(pa[0]), "r"(pa[128]), "r"(pa[4]), "r"(pa[132]), "r"(pb[0]), "r"(pb[4]));
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(pa[8]), "r"(pa[136]), "r"(pa[12]), "r"(pa[140]), "r"(pb[8]), "r"(pb[12]));
  float* o = c + g * 8 + 2 * t;
  o[0] = d[0];
  o[1] = d[1];
  o[64] = d[2];
  o[65] = d[3];
}
