// class: gemm wmma
// about: wmma m16n16k16 of bytes into 32-bit sums
// block: [32]
// args:
//   - i8[16x64]=bits:120
//   - i8[16x64]=bits:121
//   - out:i32[16x16]
extern "C" __global__ void gemm_wmma_s8(const signed char* a, const signed char* b, int* c) {
  int d[8] = {};
  for (int k = 0; k < 64; k += 16) {
    unsigned x[2], y[2];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%0, %1}, [%2], 64;"
                 : "=r"(x[0]), "=r"(x[1])
                 : "l"(a + k));
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {%0, %1}, [%2], 64;"
                 : "=r"(y[0]), "=r"(y[1])
                 : "l"(b + k));
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
                 : "r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(y[1]));
  }
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, 16;" ::"l"(c), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]), "r"(d[4]), "r"(d[5]), "r"(d[6]), "r"(d[7]) : "memory");
}
