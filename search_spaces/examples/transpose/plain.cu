// One thread an element: reads along rows, writes along columns.
__global__ void plain(const float* x, float* y, int rows, int columns) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row < rows && column < columns) y[column * rows + row] = x[row * columns + column];
}
