// class: gemm wmma
// about: wmma m8n32k16 of bf16
// block: [32]
// args:
//   - bf16[8x64]=normal:126
//   - bf16[32x64]=normal:127
//   - out:f32[8x32]
extern "C" __global__ void gemm_wmma_bf16(const unsigned short* a, const unsigned short* b, float* c) {
  float d[8] = {};
  for (int k = 0; k < 64; k += 16) {
    unsigned x[2], y[8];
    asm volatile("wmma.load.a.sync.aligned.row.m8n32k16.global.bf16 {%0, %1}, [%2], 64;"
                 : "=r"(x[0]), "=r"(x[1])
                 : "l"(a + k));
    asm volatile("wmma.load.b.sync.aligned.col.m8n32k16.global.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 64;"
                 : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]), "=r"(y[4]), "=r"(y[5]), "=r"(y[6]), "=r"(y[7])
                 : "l"(b + k));
    asm volatile("wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9}, {%10, %11, %12, %13, %14, %15, %16, %17}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  }
  asm volatile("wmma.store.d.sync.aligned.row.m8n32k16.global.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 32;" ::"l"(c), "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]) : "memory");
}
