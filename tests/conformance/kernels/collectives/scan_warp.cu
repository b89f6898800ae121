// class: scan
// about: inclusive sums of floats by shuffles up, then across warps
// grid: [2]
// block: [256]
// args:
//   - f32[512]=normal:9
//   - out:f32[512]
extern "C" __global__ void scan_warp(const float* in, float* out) {
  __shared__ float totals[8];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float x = in[i];
  for (int d = 1; d < 32; d *= 2) {
    const float y = __shfl_up_sync(0xffffffffu, x, d);
    if (lane >= d) x += y;
  }
  if (lane == 31) totals[warp] = x;
  __syncthreads();
  float before = 0;
  for (int w = 0; w < warp; ++w) before += totals[w];
  out[i] = x + before;
}
