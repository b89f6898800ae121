// C = A B^T where k is long and C is small: as in mma.cu, but SPLIT blocks share the depth of a tile,
// so that there is work for all SMs. Each leaves its sums in `partials`.

#include "mma.cu"
#include "split_k_sum.cuh"

__global__ void __launch_bounds__(kThreads)
    gemm_split_k(const Element* A, const Element* B, float* partials, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  const int down = (m + BLOCK_M - 1) / BLOCK_M, across = (n + BLOCK_N - 1) / BLOCK_N;
  const int group = blockIdx.x / (GROUP * across) * GROUP;
  const int rows = min(GROUP, down - group);
  const int top = (group + blockIdx.x % (GROUP * across) % rows) * BLOCK_M;
  const int left = blockIdx.x % (GROUP * across) / rows * BLOCK_N;

  // This block's part of the depth; none for the last ones where k is short.
  const int steps = (k + DEPTH - 1) / DEPTH;
  const int part = (steps + SPLIT - 1) / SPLIT;
  const int first = min((int)blockIdx.y * part, steps);
  const int end = min(first + part, steps);
  const auto begin_step = [&](int step) {
    if (step < end) {
      const unsigned stage = base + step % STAGES * kStageBytes;
      copy_tile<BLOCK_M>(stage, A, top, m, step * DEPTH, k);
      copy_tile<BLOCK_N>(stage + kABytes, B, left, n, step * DEPTH, k);
    }
    commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) begin_step(first + step);

  const int warp_top = warp / WARPS_N * kWarpM, warp_left = warp % WARPS_N * kWarpN;
  Sums sums = {};
  for (int step = first; step < end; ++step) {
    wait_copies<STAGES - 2>();
    __syncthreads();
    begin_step(step + STAGES - 1);
    const unsigned stage = base + step % STAGES * kStageBytes;
    multiply(sums, stage + warp_top * kRowBytes, stage + kABytes + warp_left * kRowBytes, lane);
  }

  float* to = partials + (long long)blockIdx.y * m * n;
#pragma unroll
  for (int i = 0; i < kTilesM; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = top + warp_top + i * 16 + half * 8 + lane / 4;
      if (row >= m) continue;
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        const int column = left + warp_left + j * 8 + lane % 4 * 2;
        if (column < n)  // n is even
          *reinterpret_cast<float2*>(to + (long long)row * n + column) =
              make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
    }
}
