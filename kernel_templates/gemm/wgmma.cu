// C = A B^T on Hopper's tensor cores. A block is one warpgroup that copies and CONSUMERS that
// multiply: the copy engine brings tiles of A and B, 64 deep, into a ring of STAGES, whose places
// barriers hand to and fro; each consumer sums 64 * ROWS_64 rows x BLOCK_N columns in registers.
// After CUTLASS's "warp specialized" kernels.
//
// CLUSTER: blocks above each other that share tiles of B: each asks for a part, which the copy
// engine gives all.
// PERSISTENT: as many blocks as the GPU holds, which take tile after tile, so
// that the copies of the next tile run while the last one's results leave; else a block a tile.
// GROUP: this many rows of tiles are gone through column by column, so that tiles at work at one
// time share what they read of A and B in L2.
// EPILOGUE: direct, a fragment at a time; or staged, by way of shared memory and the copy engine.

#include "defaults.cuh"

#include "element.cuh"
#include "mbarrier.cuh"
#include "shared.cuh"
#include "store_matrix.cuh"
#include "tensor_copy.cuh"
#include "wgmma.cuh"

enum class Epilogue { direct, staged };
constexpr bool kStaged = Epilogue::EPILOGUE == Epilogue::staged;

constexpr int kGroupThreads = 128;
constexpr int kThreads = (1 + CONSUMERS) * kGroupThreads;
constexpr int kDepth = 64;  // elements of a row of 128 bytes, the width of the swizzle
constexpr int kConsumerRows = 64 * ROWS_64;
constexpr int kRows = CONSUMERS * kConsumerRows;
constexpr int kABytes = kRows * 128;
constexpr int kBBytes = BLOCK_N * 128;
constexpr int kStageBytes = kABytes + kBBytes;
constexpr int kOutBytes = kStaged ? kRows * BLOCK_N * 2 : 0;
constexpr int kOut = STAGES * kStageBytes;
constexpr int kFull = kOut + kOutBytes;
constexpr int kEmpty = kFull + 8 * STAGES;

// Registers a thread, of the warpgroup that copies and of those that multiply. One consumer starts
// with as many as there can be.
constexpr int kFewRegisters = CONSUMERS == 2 ? 40 : 32;
constexpr int kManyRegisters = CONSUMERS == 2 ? 232 : 160;

using Place = PipelineState<STAGES>;

// What a cluster makes at a time: a column of CLUSTER tiles.
struct Columns {
  int down, across;  // how many there are
  int first, steps;  // of 64 along k: where these blocks begin, and how many they add up

  __device__ __forceinline__ int count() const { return down * across; }
  // Where the `index`-th is, in units of its own size.
  __device__ __forceinline__ void place(int index, int& row, int& column) const {
    const int in_group = GROUP * across;
    const int first = index / in_group * GROUP;
    const int rows = min(GROUP, down - first);
    row = first + index % in_group % rows;
    column = index % in_group / rows;
  }
};

__device__ __forceinline__ void copy_tiles(unsigned base, const TensorMap& a_map,
                                           const TensorMap& b_map, const Columns& columns,
                                           unsigned rank) {
  Place place;
  for (int index = blockIdx.x / CLUSTER; index < columns.count(); index += gridDim.x / CLUSTER) {
    int row, column;
    columns.place(index, row, column);
    row = row * CLUSTER + rank;
    for (int i = 0; i < columns.steps; ++i) {
      const unsigned full = base + kFull + 8 * place.slot;
      const unsigned a = base + place.slot * kStageBytes, b = a + kABytes;
      wait_for(base + kEmpty + 8 * place.slot, place.parity ^ 1);
      arrive_and_expect(full, kStageBytes);
      const int from = (columns.first + i) * kDepth;
      load_box(a, a_map, full, from, row * kRows);
      if (CLUSTER == 1) {
        load_box(b, b_map, full, from, column * BLOCK_N);
      } else {
        constexpr int kPart = BLOCK_N / CLUSTER;
        load_box_for((1 << CLUSTER) - 1, b + rank * kPart * 128, b_map, full, from,
                     column * BLOCK_N + rank * kPart);
      }
      place.advance();
    }
  }
  // No block may end while another's copies can still come to it, or its consumers arrive at ours.
  if (CLUSTER > 1)
    for (int i = 0; i < STAGES; ++i) {
      wait_for(base + kEmpty + 8 * place.slot, place.parity ^ 1);
      place.advance();
    }
}

using Sums = float[ROWS_64][BLOCK_N / 2];

// Tells whoever fills this slot that this warp's products have read it: a wait for products is a
// warp's own.
__device__ __forceinline__ void release(unsigned base, unsigned slot) {
  const unsigned lane = threadIdx.x % 32;
  if (CLUSTER == 1) {
    if (lane == 0) arrive(base + kEmpty + 8 * slot);
  } else if (lane < CLUSTER) {
    arrive_in_cluster(base + kEmpty + 8 * slot, lane);
  }
}

__device__ __forceinline__ void multiply(unsigned base, int consumer, int steps, Place& place,
                                         Sums& sums) {
  unsigned last = 0;
  for (int i = 0; i < steps; ++i) {
    const unsigned a = base + place.slot * kStageBytes + consumer * kConsumerRows * 128;
    const unsigned b = base + place.slot * kStageBytes + kABytes;
    wait_for(base + kFull + 8 * place.slot, place.parity);
    begin_products();
#pragma unroll
    for (int depth = 0; depth < kDepth / 16; ++depth)
#pragma unroll
      for (int r = 0; r < ROWS_64; ++r)
        Wgmma<BLOCK_N>::from_shared(sums[r],
                                    moved(matrix_at(a + r * 64 * 128, 0, 1024), depth * 32),
                                    moved(matrix_at(b, 0, 1024), depth * 32), i > 0 || depth > 0);
    commit_products();
    // One step's products stay under way while the next begin; the one before has been read.
    wait_products<1>();
    if (i > 0) release(base, last);
    last = place.slot;
    place.advance();
  }
  wait_products<0>();
#pragma unroll
  for (int r = 0; r < ROWS_64; ++r) pin_registers(sums[r]);
  release(base, last);
}

// Calls `write(row, column, a, b)` for each two sums of a thread that lie beside each other in C.
template <typename Write>
__device__ __forceinline__ void for_pairs(const Sums& sums, int top, int left, int m, int n,
                                          const Write& write) {
  const int thread = threadIdx.x % kGroupThreads;
#pragma unroll
  for (int r = 0; r < ROWS_64; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = top + r * 64 + thread / 32 * 16 + thread % 32 / 4 + half * 8;
      if (row >= m) continue;
#pragma unroll
      for (int i = 0; i < BLOCK_N / 8; ++i) {
        const int column = left + i * 8 + thread % 4 * 2;
        // n is a multiple of 8, as tensor maps ask for.
        if (column < n)
          write(row, column, sums[r][4 * i + 2 * half], sums[r][4 * i + 2 * half + 1]);
      }
    }
}

__device__ __forceinline__ void write_direct(Element* C, const Sums& sums, int top, int left, int m,
                                             int n) {
  for_pairs(sums, top, left, m, n, [&](int row, int column, float a, float b) {
    *reinterpret_cast<unsigned*>(C + (long long)row * n + column) = pack(a, b);
  });
}

// In panels of 64 rows x 64 columns, 128 bytes a row, swizzled as the copy engine reads them.
__device__ __forceinline__ void write_staged(unsigned base, const TensorMap& c_map,
                                             const Sums& sums, int consumer, int top, int left) {
  const int thread = threadIdx.x % kGroupThreads, lane = thread % 32, warp = thread / 32;
  const unsigned own = base + kOut + consumer * kConsumerRows * BLOCK_N * 2;
  // The stores of the tile before have left their place.
  if (thread == 0) wait_stores_read();
  sync_numbered(1 + consumer, kGroupThreads);
  const int row = warp * 16 + lane % 16;
#pragma unroll
  for (int r = 0; r < ROWS_64; ++r)
#pragma unroll
    for (int i = 0; i < BLOCK_N / 16; ++i) {
      const unsigned panel = own + (r * (BLOCK_N / 64) + i / 4) * 64 * 128;
      const int chunk = i % 4 * 2 + lane / 16;
      const float* s = sums[r] + 8 * i;
      store_matrices(panel + row * 128 + ((chunk ^ row % 8) * 16),
                     pack(s[0], s[1]), pack(s[2], s[3]),
                     pack(s[4], s[5]), pack(s[6], s[7]));
    }
  fence_async_proxy();
  sync_numbered(1 + consumer, kGroupThreads);
  if (thread == 0) {
#pragma unroll
    for (int r = 0; r < ROWS_64; ++r)
#pragma unroll
      for (int panel = 0; panel < BLOCK_N / 64; ++panel)
        store_box(c_map, own + (r * (BLOCK_N / 64) + panel) * 64 * 128,
                  left + panel * 64, top + r * 64);
    commit_stores();
  }
}

__device__ __forceinline__ void begin_barriers(unsigned base) {
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < STAGES; ++slot) {
      init_mbarrier(base + kFull + 8 * slot, 1);
      init_mbarrier(base + kEmpty + 8 * slot, 4 * CONSUMERS * CLUSTER);  // a warp once
    }
    publish_mbarriers();
  }
  if (CLUSTER > 1)
    sync_cluster();
  else
    __syncthreads();
}

__global__ void __launch_bounds__(kThreads)
    gemm_wgmma(const __grid_constant__ TensorMap A_map, const __grid_constant__ TensorMap B_map,
               const __grid_constant__ TensorMap C_map, Element* C, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned base = shared_address(shared);
  begin_barriers(base);

  const unsigned rank = CLUSTER > 1 ? cluster_rank() : 0;
  const Columns columns{(m + kRows * CLUSTER - 1) / (kRows * CLUSTER), (n + BLOCK_N - 1) / BLOCK_N,
                        0, (k + kDepth - 1) / kDepth};
  const int group = threadIdx.x / kGroupThreads;
  if (group == 0) {
    if constexpr (CONSUMERS > 1) give_registers<kFewRegisters>();
    if (threadIdx.x < 32 && is_elected()) copy_tiles(base, A_map, B_map, columns, rank);
    return;
  }
  if constexpr (CONSUMERS > 1) take_registers<kManyRegisters>();
  const int consumer = group - 1;
  Place place;
  for (int index = blockIdx.x / CLUSTER; index < columns.count(); index += gridDim.x / CLUSTER) {
    int row, column;
    columns.place(index, row, column);
    Sums sums;
    multiply(base, consumer, columns.steps, place, sums);
    const int top = (row * CLUSTER + rank) * kRows + consumer * kConsumerRows;
    const int left = column * BLOCK_N;
    if (kStaged)
      write_staged(base, C_map, sums, consumer, top, left);
    else
      write_direct(C, sums, top, left, m, n);
  }
  if (kStaged && threadIdx.x % kGroupThreads == 0) wait_stores();
}
