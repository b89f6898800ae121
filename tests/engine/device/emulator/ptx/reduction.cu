// Sums blockDim.x values a block with warp shuffles and shared memory, then one atomic a block.
// nvcc -arch=sm_89 -ptx reduction.cu -o reduction.ptx
extern "C" __global__ void reduction(float* total, const float* values, int count) {
  __shared__ float partial[32];
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = index < count ? values[index] : 0.0f;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x == 0) atomicAdd(total, sum);
  }
}
