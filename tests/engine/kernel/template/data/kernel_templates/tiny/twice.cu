// Doubles a vector: the smallest template with includes, parameters and a derived value.
#include "parts/index.cuh"
#include "arith.cuh"

extern "C" __global__ void __launch_bounds__(THREADS) twice(float* x, int n) {
  const int i = first_index();
  if (i < n) x[i] = doubled(x[i]);
}
