// class: arithmetic
// about: Horner in float and double, quotients and roots between
// grid: [2]
// block: [128]
// args:
//   - f32[256]=normal:56
//   - out:f32[256]
//   - out:f64[256]
extern "C" __global__ void polynomial(const float* in, float* out, double* wide) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float x = in[i];
  float y = 1;
  double z = 1;
  for (int k = 12; k > 0; --k) {
    y = 1 + x * y / k;
    z = 1 + x * z / k;
  }
  out[i] = y + sqrtf(x * x + 1);
  wide[i] = z / sqrt(z * z + 1);
}
