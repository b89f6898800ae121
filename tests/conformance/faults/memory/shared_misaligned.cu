// class: misaligned
// about: a row of odd length makes pairs in shared memory lie on 4 bytes
// grid: [1]
// block: [64]
// args:
//   - f32[64]=normal:5
//   - out:f32[64]
// fault: misaligned
// checkers: memcheck
extern "C" __global__ void shared_misaligned(const float* in, float* out) {
#ifdef FAULT
  constexpr int row = 17;
#else
  constexpr int row = 18;
#endif
  __shared__ __align__(16) float tile[4][row];
  const int y = threadIdx.x / 16, x = threadIdx.x % 16;
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  const float2 pair = *(const float2*)&tile[y][x & ~1];
  out[threadIdx.x] = pair.x - pair.y;
}
