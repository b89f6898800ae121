// class: misaligned
// about: reads four floats at once from where they do not lie on 16 bytes
// grid: [1]
// block: [64]
// args:
//   - f32[512]=normal:4
//   - out:f32[64]
// fault: misaligned
// checkers: memcheck
extern "C" __global__ void global_misaligned(const float* in, float* out) {
#ifdef FAULT
  const float* from = in + 4 * threadIdx.x + 2;
#else
  const float* from = in + 4 * threadIdx.x + 4;
#endif
  const float4 x = *(const float4*)from;
  out[threadIdx.x] = x.x + x.y + x.z + x.w;
}
