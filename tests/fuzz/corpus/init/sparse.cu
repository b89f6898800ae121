__constant__ float weights[9];
namespace own {
__global__ void rows(const int* begin, const int* column, const double* value, const double* x, double* y, int n) {
  extern __shared__ double part[];
  int row = (int)(blockIdx.x * blockDim.x) + threadIdx.x;
  if (row >= n) { return; }
  part[threadIdx.x] = 0;
  for (int j = begin[row]; j < begin[row + 1]; ++j) part[threadIdx.x] += value[j] * x[column[j]] * weights[j % 9];
  y[row] = part[threadIdx.x];
}
}
