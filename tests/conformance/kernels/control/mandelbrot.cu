// class: divergence
// about: rounds until escape
// grid: [4, 4]
// block: [16, 8]
// args:
//   - out:u32[32x64]
extern "C" __global__ void mandelbrot(unsigned* out) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const float a = -2.0f + 3.0f * x / 64, b = -1.0f + 2.0f * y / 32;
  float u = 0, v = 0;
  unsigned n = 0;
  for (; n < 100 && u * u + v * v < 4; ++n) {
    const float next = u * u - v * v + a;
    v = 2 * u * v + b;
    u = next;
  }
  out[y * 64 + x] = n;
}
