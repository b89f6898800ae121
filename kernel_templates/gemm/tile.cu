// C = A B^T without tensor cores: a block makes TILE x TILE elements, from tiles of A and B that
// are DEPTH deep and lie in shared memory, turned over, as floats; a thread makes PER x PER of them
// in registers.

#include "defaults.cuh"

#include "element.cuh"

constexpr int side = TILE / PER;  // threads in x and in y
constexpr int threads = side * side;

__global__ void __launch_bounds__(threads)
    gemm_tile(const Element* A, const Element* B, Element* C, int m, int n, int k) {
  __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
  const int own = threadIdx.y * side + threadIdx.x;
  const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  float sums[PER][PER] = {};
  for (int start = 0; start < k; start += DEPTH) {
    for (int i = own; i < TILE * DEPTH; i += threads) {
      const int row = i / DEPTH, depth = i % DEPTH;
      const bool inside = start + depth < k;
      a[depth][row] =
          inside && top + row < m ? to_float(A[(long long)(top + row) * k + start + depth]) : 0;
      b[depth][row] =
          inside && left + row < n ? to_float(B[(long long)(left + row) * k + start + depth]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth)
#pragma unroll
      for (int y = 0; y < PER; ++y)
#pragma unroll
        for (int x = 0; x < PER; ++x)
          sums[y][x] += a[depth][threadIdx.y + y * side] * b[depth][threadIdx.x + x * side];
    __syncthreads();
  }
#pragma unroll
  for (int y = 0; y < PER; ++y)
#pragma unroll
    for (int x = 0; x < PER; ++x) {
      const int row = top + threadIdx.y + y * side, column = left + threadIdx.x + x * side;
      if (row < m && column < n)
        C[(long long)row * n + column] = static_cast<Element>(pack(sums[y][x], 0.0f));
    }
}
