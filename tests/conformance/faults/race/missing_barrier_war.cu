// class: race
// about: the next tile is written while the last one may still be read
// grid: [1]
// block: [64]
// args:
//   - f32[8x32]=normal:7
//   - f32[32x8]=normal:8
//   - out:f32[8x8]
// fault: race
// checkers: racecheck
extern "C" __global__ void missing_barrier_war(const float* a, const float* b, float* c) {
  __shared__ float as[8][8], bs[8][8];
  const int x = threadIdx.x % 8, y = threadIdx.x / 8;
  float sum = 0;
  for (int k = 0; k < 32; k += 8) {
    as[y][x] = a[y * 32 + k + x];
    bs[y][x] = b[(k + y) * 8 + x];
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += as[y][i] * bs[i][x];
#ifndef FAULT
    __syncthreads();
#endif
  }
  c[threadIdx.x] = sum;
}
