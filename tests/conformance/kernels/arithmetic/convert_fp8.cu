// class: arithmetic
// about: floats and halves to 8 bits and back
// arch: sm_89
// grid: [2]
// block: [128]
// args:
//   - f32[256]=uniform:114:-600:600
//   - out:u32[768]
extern "C" __global__ void convert_fp8(const float* in, unsigned* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float a = in[i], b = in[255 - i];
  unsigned short p, q, r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(p) : "f"(a), "f"(b));
  asm("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(q) : "f"(a), "f"(b));
  unsigned h, k;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(p));
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(k) : "h"(q));
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(r) : "r"(k));
  out[3 * i] = p | (unsigned)q << 16;
  out[3 * i + 1] = h;
  out[3 * i + 2] = k ^ (unsigned)r << 7;
}
