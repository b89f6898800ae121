// class: approximation
// about: rows of softmax with expf and a true quotient
// grid: [8]
// block: [64]
// args:
//   - f32[8x64]=normal:74
//   - out:f32[8x64]
// agree: {ulp: 8}
// because: expf rests on ex2.approx
extern "C" __global__ void softmax(const float* in, float* out) {
  __shared__ float s[2];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float x = in[i];
  const auto across = [&](float v, bool sum) {
    for (int d = 16; d > 0; d /= 2) {
      const float y = __shfl_xor_sync(0xffffffffu, v, d);
      v = sum ? v + y : fmaxf(v, y);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    return sum ? s[0] + s[1] : fmaxf(s[0], s[1]);
  };
  const float e = expf(x - across(x, false));
  out[i] = e / across(e, true);
}
