// Softmax of each row, a block a row: neighbours read neighbours, and the block's threads meet
// twice in shared memory, for the row's largest element and for its sum. Three passes over the row.
// THREADS: of a block, a power of two.

#include "defaults.cuh"

#include "element.cuh"

template <typename Join>
__device__ float over_block(float value, Join join) {
  __shared__ float parts[THREADS];
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  return parts[0];  // nobody writes it again: each kind of Join has parts of its own
}

__global__ void __launch_bounds__(THREADS)
    softmax_block(const Element* x, Element* y, int columns) {
  x += (long long)blockIdx.x * columns;
  y += (long long)blockIdx.x * columns;
  float largest = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, to_float(x[i]));
  largest = over_block(largest, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += THREADS) sum += expf(to_float(x[i]) - largest);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += THREADS)
    y[i] = static_cast<Element>(pack(expf(to_float(x[i]) - largest) / sum, 0.0f));
}
