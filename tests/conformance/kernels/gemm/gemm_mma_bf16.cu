// class: gemm mma
// about: m16n8k16 of bf16, and m16n8k8
// grid: [2, 2]
// block: [32]
// args:
//   - bf16[32x32]=normal:57
//   - bf16[16x32]=normal:58
//   - out:f32[32x16]
extern "C" __global__ void gemm_mma_bf16(const unsigned short* a, const unsigned short* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned short* pa = a + (blockIdx.y * 16 + g) * 32 + 2 * t;
  const unsigned short* pb = b + (blockIdx.x * 8 + g) * 32 + 2 * t;
  const auto word = [](const unsigned short* at) { return *(const unsigned*)at; };
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(word(pa)), "r"(word(pa + 256)), "r"(word(pa + 8)), "r"(word(pa + 264)), "r"(word(pb)), "r"(word(pb + 8)));
  for (int k = 16; k < 32; k += 8)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(word(pa + k)), "r"(word(pa + 256 + k)), "r"(word(pb + k)));
  float* o = c + (blockIdx.y * 16 + g) * 16 + blockIdx.x * 8 + 2 * t;
  o[0] = d[0];
  o[1] = d[1];
  o[128] = d[2];
  o[129] = d[3];
}
