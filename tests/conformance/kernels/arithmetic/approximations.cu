// class: approximation
// about: ex2, lg2, rcp, rsqrt and sqrt as the hardware approximates them
// grid: [4]
// block: [128]
// args:
//   - f32[512]=uniform:72:0.001:30
//   - out:f32[512x5]
// agree: {ulp: 4}
// because: .approx instructions are tables in hardware
extern "C" __global__ void approximations(const float* in, float* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float x = in[i];
  float* o = out + 5 * i;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(o[0]) : "f"(x - 15));
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(o[1]) : "f"(x + 2));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(o[2]) : "f"(x));
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(o[3]) : "f"(x));
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(o[4]) : "f"(x));
}
