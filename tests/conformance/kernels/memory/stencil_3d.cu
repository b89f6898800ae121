// class: stencil
// about: seven points of a volume in double, a plane at a time
// grid: [2, 2]
// block: [8, 8]
// args:
//   - f64[8x16x16]=normal:21
//   - out:f64[8x16x16]
extern "C" __global__ void stencil_3d(const double* in, double* out) {
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const auto at = [&](int i, int j, int k) {
    return i < 0 || i > 15 || j < 0 || j > 15 || k < 0 || k > 7 ? 0.0 : in[(k * 16 + j) * 16 + i];
  };
  double below = 0, here = at(x, y, 0);
  for (int z = 0; z < 8; ++z) {
    const double above = at(x, y, z + 1);
    out[(z * 16 + y) * 16 + x] =
        below + above + at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) - 6 * here;
    below = here;
    here = above;
  }
}
