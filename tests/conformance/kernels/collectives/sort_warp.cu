// class: sort
// about: a bitonic sort of 32 floats by shuffles
// grid: [4]
// block: [128]
// args:
//   - f32[512]=normal:14
//   - out:f32[512]
extern "C" __global__ void sort_warp(const float* in, float* out) {
  const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
  float x = in[i];
  for (int size = 2; size <= 32; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const float y = __shfl_xor_sync(0xffffffffu, x, stride);
      const bool low = (lane & stride) == 0, up = (lane & size) == 0;
      x = low == up ? fminf(x, y) : fmaxf(x, y);
    }
  }
  out[i] = x;
}
