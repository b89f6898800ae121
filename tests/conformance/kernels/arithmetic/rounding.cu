// class: arithmetic
// about: float sums, products, quotients, roots and fma in every rounding, on random bits
// grid: [2]
// block: [128]
// args:
//   - f32[256]=bits:47
//   - f32[256]=bits:48
//   - out:f32[256x22]
extern "C" __global__ void rounding(const float* p, const float* q, float* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float a = p[i], b = q[i], c = p[255 - i];
  float* o = out + 22 * i;
  o[0] = __fadd_rn(a, b);
  o[1] = __fadd_rz(a, b);
  o[2] = __fadd_ru(a, b);
  o[3] = __fadd_rd(a, b);
  o[4] = __fmul_rn(a, b);
  o[5] = __fmul_rz(a, b);
  o[6] = __fmul_ru(a, b);
  o[7] = __fmul_rd(a, b);
  o[8] = __fmaf_rn(a, b, c);
  o[9] = __fmaf_rz(a, b, c);
  o[10] = __fmaf_ru(a, b, c);
  o[11] = __fmaf_rd(a, b, c);
  o[12] = __fdiv_rn(a, b);
  o[13] = __fdiv_rz(a, b);
  o[14] = __fsqrt_rn(fabsf(a));
  o[15] = __fsqrt_ru(fabsf(a));
  o[16] = __frcp_rn(a);
  o[17] = __frcp_rd(a);
  o[18] = fminf(a, b);
  o[19] = fmaxf(a, b);
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(o[20]) : "f"(a * 1e-38f), "f"(b));
  asm("fma.rn.ftz.sat.f32 %0, %1, %2, %3;" : "=f"(o[21]) : "f"(a), "f"(b), "f"(c));
}
