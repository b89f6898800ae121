// class: stencil
// about: five points of a plane, edges clamped
// grid: [4, 4]
// block: [16, 8]
// args:
//   - f32[32x64]=normal:20
//   - out:f32[32x64]
extern "C" __global__ void stencil_2d(const float* in, float* out) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const auto at = [&](int i, int j) {
    i = i < 0 ? 0 : i > 63 ? 63 : i;
    j = j < 0 ? 0 : j > 31 ? 31 : j;
    return in[j * 64 + i];
  };
  out[y * 64 + x] = 0.5f * at(x, y) + 0.125f * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1));
}
