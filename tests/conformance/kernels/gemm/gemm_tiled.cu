// class: gemm
// about: f32 tiles in shared memory
// grid: [2, 3]
// block: [16, 16]
// args:
//   - f32[48x64]=normal:25
//   - f32[64x32]=normal:26
//   - out:f32[48x32]
extern "C" __global__ void gemm_tiled(const float* a, const float* b, float* c) {
  __shared__ float as[16][16], bs[16][17];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < 64; k += 16) {
    as[y][x] = a[row * 64 + k + x];
    bs[y][x] = b[(k + y) * 32 + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * 32 + column] = sum;
}
