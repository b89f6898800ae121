// class: gemm mma
// about: m16n8k32 of signed and unsigned bytes into 32-bit sums
// grid: [2, 2]
// block: [32]
// args:
//   - i8[32x64]=bits:59
//   - u8[16x64]=bits:60
//   - out:i32[32x16]
extern "C" __global__ void gemm_mma_s8(const signed char* a, const unsigned char* b, int* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned* pa = (const unsigned*)(a + (blockIdx.y * 16 + g) * 64) + t;
  const unsigned* pb = (const unsigned*)(b + (blockIdx.x * 8 + g) * 64) + t;
  int d[4] = {};
  for (int k = 0; k < 16; k += 8)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(pa[k]), "r"(pa[128 + k]), "r"(pa[k + 4]), "r"(pa[128 + k + 4]), "r"(pb[k]), "r"(pb[k + 4]));
  int* o = c + (blockIdx.y * 16 + g) * 16 + blockIdx.x * 8 + 2 * t;
  o[0] = d[0];
  o[1] = d[1];
  o[128] = d[2];
  o[129] = d[3];
}
