// A 15 x 15 filter over an image that is 14 larger each way than what comes out: a thread an
// element, all from global memory. What the others are held against.
__global__ void convolution_plain(const float* image, const float* filter, float* out, int width,
                                  int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int i = 0; i < 15; ++i)
    for (int j = 0; j < 15; ++j) sum += image[(y + i) * (width + 14) + x + j] * filter[i * 15 + j];
  out[y * width + x] = sum;
}
