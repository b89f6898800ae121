// class: approximation
// about: rows normalized with rsqrtf
// grid: [4]
// block: [32]
// args:
//   - f32[4x128]=normal:75
//   - out:f32[4x128]
// agree: {absolute: 1e-6}
// because: rsqrtf is rsqrt.approx
extern "C" __global__ void layer_norm(const float* in, float* out) {
  float x[4], sum = 0, square = 0;
  for (int k = 0; k < 4; ++k) {
    x[k] = in[blockIdx.x * 128 + k * 32 + threadIdx.x];
    sum += x[k];
    square += x[k] * x[k];
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
    square += __shfl_xor_sync(0xffffffffu, square, d);
  }
  const float mean = sum / 128, scale = rsqrtf(square / 128 - mean * mean + 1e-5f);
  for (int k = 0; k < 4; ++k) out[blockIdx.x * 128 + k * 32 + threadIdx.x] = (x[k] - mean) * scale;
}
