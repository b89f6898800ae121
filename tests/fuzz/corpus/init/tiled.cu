#define AT(a, row, column, width) a[(row) * (width) + (column)]
template <int TILE, typename T = float, bool LOW = false>
__global__ void product(const T* a, const T* b, T* c, int rows, int columns, int inner) {
  __shared__ T left[TILE][TILE + 1], right[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int k = 0; k < (inner + TILE - 1) / TILE; ++k) {
    const int x = k * TILE + threadIdx.x, y = k * TILE + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && x < inner ? AT(a, row, x, inner) : T(0);
    right[threadIdx.y][threadIdx.x] = y < inner && column < columns ? AT(b, y, column, columns) : T(0);
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) AT(c, row, column, columns) = sum;
}
