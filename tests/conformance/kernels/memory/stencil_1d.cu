// class: stencil
// about: seven points of a line, with a halo in shared memory
// grid: [8]
// block: [128]
// args:
//   - f32[1030]=normal:19
//   - out:f32[1024]
extern "C" __global__ void stencil_1d(const float* in, float* out) {
  __shared__ float tile[134];
  const int begin = blockIdx.x * 128;
  for (int i = threadIdx.x; i < 134; i += 128) tile[i] = in[begin + i];
  __syncthreads();
  const float weight[7] = {0.03f, -0.2f, 0.7f, 1.5f, 0.7f, -0.2f, 0.03f};
  float sum = 0;
  for (int k = 0; k < 7; ++k) sum += weight[k] * tile[threadIdx.x + k];
  out[begin + threadIdx.x] = sum;
}
