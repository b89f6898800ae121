// class: reduction
// about: sums in a tree over shared memory
// grid: [8]
// block: [256]
// args:
//   - f32[4096]=normal:1
//   - out:f32[8]
extern "C" __global__ void reduce_tree(const float* in, float* out) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  const int base = blockIdx.x * 512;
  partial[t] = in[base + t] + in[base + 256 + t];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}
