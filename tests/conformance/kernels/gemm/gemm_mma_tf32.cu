// class: gemm mma
// about: m16n8k8 and m16n8k4 of tf32, whose lowest 13 bits do not count
// grid: [1]
// block: [32]
// args:
//   - f32[16x12]=normal:61
//   - f32[8x12]=normal:62
//   - out:f32[16x8]
extern "C" __global__ void gemm_mma_tf32(const unsigned* a, const unsigned* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned* pa = a + g * 12 + t;
  const unsigned* pb = b + g * 12 + t;
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(pa[0]), "r"(pa[96]), "r"(pa[4]), "r"(pa[100]), "r"(pb[0]), "r"(pb[4]));
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(pa[8]), "r"(pa[104]), "r"(pb[8]));
  float* o = c + g * 8 + 2 * t;
  o[0] = d[0];
  o[1] = d[1];
  o[64] = d[2];
  o[65] = d[3];
}
