// Softmax of each row, one thread a row, as the formula says: what the others are held against.
__global__ void softmax_plain(const float* x, float* y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  float largest = x[0];
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, x[i]);
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(x[i] - largest);
  for (int i = 0; i < columns; ++i) y[i] = expf(x[i] - largest) / sum;
}
