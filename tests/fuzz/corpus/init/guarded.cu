#ifndef PER
#define PER 4  // elements of a thread
#endif
typedef float real;
extern "C" __global__ void __launch_bounds__(256) axpy(const real* __restrict__ x, real* y, real a, unsigned int n) {
#pragma unroll PER
  for (int k = 0; k < PER; ++k) {
    const unsigned int i = (blockIdx.x * PER + k) * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }
}
