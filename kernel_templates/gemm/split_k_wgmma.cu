// C = A B^T where k is long and C is small: as in wgmma.cu, but SPLIT blocks, or clusters of them,
// share the depth of a tile, so that there is work for all SMs. Each leaves its sums in `partials`.

#define EPILOGUE direct

#include "wgmma.cu"
#include "split_k_sum.cuh"

__global__ void __launch_bounds__(kThreads)
    gemm_split_k_wgmma(const __grid_constant__ TensorMap A_map,
                       const __grid_constant__ TensorMap B_map, float* partials, int m, int n,
                       int k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared);
  begin_barriers(base);

  const unsigned rank = CLUSTER > 1 ? cluster_rank() : 0;
  const int steps = (k + kDepth - 1) / kDepth;
  const int part = (steps + SPLIT - 1) / SPLIT;
  const int first = min((int)blockIdx.y * part, steps);
  const Columns columns{(m + kRows * CLUSTER - 1) / (kRows * CLUSTER), (n + BLOCK_N - 1) / BLOCK_N,
                        first, min(part, steps - first)};
  const int group = threadIdx.x / kGroupThreads;
  if (group == 0) {
    if constexpr (CONSUMERS > 1) give_registers<kFewRegisters>();
    if (threadIdx.x < 32 && is_elected()) copy_tiles(base, A_map, B_map, columns, rank);
    return;
  }
  if constexpr (CONSUMERS > 1) take_registers<kManyRegisters>();
  const int consumer = group - 1;
  int row, column;
  columns.place(blockIdx.x / CLUSTER, row, column);
  Sums sums = {};
  Place place;
  if (columns.steps > 0) multiply(base, consumer, columns.steps, place, sums);
  const int top = consumer * kConsumerRows + (row * CLUSTER + rank) * kRows;
  float* to = partials + (long long)blockIdx.y * m * n;
  for_pairs(sums, top, column * BLOCK_N, m, n, [&](int row, int column, float a, float b) {
    *reinterpret_cast<float2*>(to + (long long)row * n + column) = make_float2(a, b);
  });
}
