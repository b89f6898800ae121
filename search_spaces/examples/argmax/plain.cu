__global__ void plain(const float* x, float* value, long long* index, int rows, int columns) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int i = 1; i < columns; ++i)
    if (x[row * columns + i] > x[row * columns + best]) best = i;
  value[row] = x[row * columns + best];
  index[row] = best;
}
