// C = A B^T: A is m x k, B is n x k as the weights of a linear layer lie, both row by row; a thread
// an element, summed in order. What the others are held against.
#include "half.cuh"

__global__ void gemm_plain(const half* A, const half* B, half* C, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __half2float(A[(long long)row * k + i]) * __half2float(B[(long long)column * k + i]);
  C[(long long)row * n + column] = __float2half(sum);
}
