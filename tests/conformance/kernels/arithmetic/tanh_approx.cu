// class: approximation
// about: tanh as the hardware approximates it, in float and packed halves
// grid: [2]
// block: [128]
// args:
//   - f32[256]=uniform:76:-4:4
//   - out:f32[256]
//   - out:f16[512]
// agree: {absolute: 1.5e-3}
// because: tanh.approx is a table in hardware, with errors up to 2^-10.9
extern "C" __global__ void tanh_approx(const float* in, float* out, unsigned* halves) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  asm("tanh.approx.f32 %0, %1;" : "=f"(out[i]) : "f"(in[i]));
  unsigned h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(in[i]), "f"(in[255 - i]));
  asm("tanh.approx.f16x2 %0, %0;" : "+r"(h));
  halves[i] = h;
}
