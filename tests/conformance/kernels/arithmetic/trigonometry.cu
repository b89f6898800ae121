// class: approximation
// about: sin and cos as the hardware approximates them
// grid: [4]
// block: [128]
// args:
//   - f32[512]=uniform:73:-3.1:3.1
//   - out:f32[512x2]
// agree: {absolute: 1e-6}
// because: .approx instructions are tables in hardware
extern "C" __global__ void trigonometry(const float* in, float* out) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float x = in[i];
  float* o = out + 2 * i;
  asm("sin.approx.f32 %0, %1;" : "=f"(o[0]) : "f"(x));
  asm("cos.approx.f32 %0, %1;" : "=f"(o[1]) : "f"(x));
}
