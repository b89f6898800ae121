// What the scans share.
#pragma once

// The sum of a thread's value and those of the threads before it; `total`: of all. All threads of
// the block call it, and `warps` may be used again by the next call.
template <int kThreads>
__device__ __forceinline__ float scan_of_block(float value, float (&warps)[kThreads / 32],
                                               float& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += other;
  }
  if (lane == 31) warps[warp] = value;
  __syncthreads();
  float before = 0;
  total = 0;
  for (int i = 0; i < kThreads / 32; ++i) {
    if (i == warp) before = total;
    total += warps[i];
  }
  __syncthreads();
  return before + value;
}
