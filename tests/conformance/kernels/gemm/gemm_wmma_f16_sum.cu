// class: gemm wmma
// about: wmma m32n8k16 of f16 with f16 sums, a by columns and b by rows
// block: [32]
// args:
//   - f16[64x32]=normal:122
//   - f16[64x8]=normal:123
//   - out:f16[32x8]
extern "C" __global__ void gemm_wmma_f16_sum(const unsigned short* a, const unsigned short* b, unsigned short* c) {
  unsigned d[4] = {};
  for (int k = 0; k < 64; k += 16) {
    unsigned x[8], y[8];
    asm volatile("wmma.load.a.sync.aligned.col.m32n8k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 32;"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]), "=r"(x[4]), "=r"(x[5]), "=r"(x[6]), "=r"(x[7])
                 : "l"(a + k * 32));
    asm volatile("wmma.load.b.sync.aligned.row.m32n8k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 8;"
                 : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]), "=r"(y[4]), "=r"(y[5]), "=r"(y[6]), "=r"(y[7])
                 : "l"(b + k * 8));
    asm volatile("wmma.mma.sync.aligned.col.row.m32n8k16.f16.f16 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  }
  asm volatile("wmma.store.d.sync.aligned.row.m32n8k16.global.f16 [%0], {%1, %2, %3, %4}, 8;" ::"l"(c), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]) : "memory");
}
