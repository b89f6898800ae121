// class: arithmetic
// about: arithmetic and comparisons in packed halves and bfloats, on random bits
// grid: [2]
// block: [64]
// args:
//   - u32[128]=bits:54
//   - u32[128]=bits:55
//   - out:u32[128x14]
extern "C" __global__ void half_math(const unsigned* p, const unsigned* q, unsigned* out) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  // Exponents other than all ones, so that no lane is a NaN whose payload is not defined.
  const unsigned keep = 0xbbffbbffu;
  const unsigned a = p[i] & keep, b = q[i] & keep, c = p[127 - i] & keep;
  unsigned* o = out + 14 * i;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(o[0]) : "r"(a), "r"(b));
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(o[1]) : "r"(a), "r"(b));
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(o[2]) : "r"(a), "r"(b));
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(o[3]) : "r"(a), "r"(b), "r"(c));
  asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(o[4]) : "r"(a), "r"(b), "r"(c));
  asm("min.f16x2 %0, %1, %2;" : "=r"(o[5]) : "r"(a), "r"(b));
  asm("max.f16x2 %0, %1, %2;" : "=r"(o[6]) : "r"(a), "r"(b));
  asm("neg.f16x2 %0, %1;" : "=r"(o[7]) : "r"(a));
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(o[8]) : "r"(a), "r"(b), "r"(c));
  asm("min.bf16x2 %0, %1, %2;" : "=r"(o[9]) : "r"(a), "r"(b));
  asm("max.bf16x2 %0, %1, %2;" : "=r"(o[10]) : "r"(a), "r"(b));
  asm("abs.bf16x2 %0, %1;" : "=r"(o[11]) : "r"(a));
  asm("set.gt.f16x2.f16x2 %0, %1, %2;" : "=r"(o[12]) : "r"(a), "r"(b));
  asm("add.rn.sat.f16x2 %0, %1, %2;" : "=r"(o[13]) : "r"(a), "r"(b));
}
