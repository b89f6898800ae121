// As Kernel Tuner has it: block_size_x and tile_size_x are #defines, whoever launches it.
extern "C" __global__ void vector_add(float* c, const float* a, const float* b, int n) {
  for (int k = 0; k < tile_size_x; ++k) {
    const int i = (blockIdx.x * tile_size_x + k) * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
  }
}
