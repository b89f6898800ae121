// class: arithmetic
// about: double arithmetic in every rounding, on random bits
// grid: [2]
// block: [128]
// args:
//   - f64[256]=bits:49
//   - f64[256]=bits:50
//   - out:f64[256x14]
extern "C" __global__ void rounding_double(const double* p, const double* q, double* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const double a = p[i], b = q[i], c = p[255 - i];
  double* o = out + 14 * i;
  o[0] = __dadd_rn(a, b);
  o[1] = __dadd_rz(a, b);
  o[2] = __dadd_ru(a, b);
  o[3] = __dmul_rn(a, b);
  o[4] = __dmul_rd(a, b);
  o[5] = __fma_rn(a, b, c);
  o[6] = __fma_rz(a, b, c);
  o[7] = __fma_ru(a, b, c);
  o[8] = __ddiv_rn(a, b);
  o[9] = __dsqrt_rn(fabs(a));
  o[10] = __drcp_rn(b);
  o[11] = fmin(a, b);
  o[12] = floor(a);
  o[13] = rint(b);
}
