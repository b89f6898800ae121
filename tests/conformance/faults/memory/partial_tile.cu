// class: uninitialized
// about: the last tile is filled as far as there is input, and summed whole
// grid: [2]
// block: [64]
// args:
//   - f32[100]=normal:6
//   - i32=100
//   - out:f32[2]
// fault: uninitialized
// checkers: initcheck
extern "C" __global__ void partial_tile(const float* in, int n, float* out) {
  __shared__ float tile[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
#ifdef FAULT
  if (i < n) tile[t] = in[i];
#else
  tile[t] = i < n ? in[i] : 0;
#endif
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += tile[k];
    out[blockIdx.x] = sum;
  }
}
