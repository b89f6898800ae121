// class: reduction
// about: dot products in packed halves
// grid: [2]
// block: [64]
// args:
//   - f16[4096]=normal:6
//   - f16[4096]=normal:7
//   - out:u32[128]
extern "C" __global__ void dot_f16x2(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  unsigned sum = 0;
  for (int k = 0; k < 16; ++k) {
    const unsigned x = a[k * 128 + i], y = b[k * 128 + i];
    asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(y));
  }
  unsigned swapped;
  asm("prmt.b32 %0, %1, %1, 0x1032;" : "=r"(swapped) : "r"(sum));
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(sum), "r"(swapped));
  out[i] = sum;
}
