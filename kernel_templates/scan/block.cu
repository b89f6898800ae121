// y[i] = x[0] + ... + x[i] by one block, THREADS elements at a time.

#include "defaults.cuh"

#include "scan.cuh"

__global__ void __launch_bounds__(THREADS) scan_block(const float* x, float* y, int n) {
  __shared__ float warps[THREADS / 32];
  float before = 0;
  for (int start = 0; start < n; start += THREADS) {
    const int i = start + threadIdx.x;
    float value = i < n ? x[i] : 0.f, total;
    value = scan_of_block<THREADS>(value, warps, total);
    if (i < n) y[i] = before + value;
    before += total;
  }
}
