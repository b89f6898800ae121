// Softmax of each row from registers: a row is read once, in pieces of VECTOR elements, kept, and
// written once. WARPS warps share a row and ROWS rows share a block; warps join by shuffles, and
// through shared memory where a row has several. FAST_EXP: 2^x by the special function unit.
// COLUMNS is the problem's.

constexpr int row_threads = WARPS * 32;
// A row whose length is no multiple of a piece has its pieces misaligned.
constexpr int vector = COLUMNS % VECTOR == 0 ? VECTOR : 1;
constexpr int pieces = (COLUMNS / vector + row_threads - 1) / row_threads;
constexpr float log2_e = 1.44269504f;

struct alignas(vector * 4) Piece {
  float at[vector];
};

__device__ float exponential(float x) {
  return FAST_EXP ? exp2f(x * log2_e) : expf(x);
}

template <typename Join>
__device__ float over_row(float value, Join join) {
  for (int step = 16; step > 0; step /= 2)
    value = join(value, __shfl_xor_sync(0xffffffff, value, step));
  if (WARPS == 1) return value;
  __shared__ float parts[ROWS][WARPS];  // of each kind of Join its own, and each joins once
  int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) parts[threadIdx.y][warp] = value;
  __syncthreads();
  value = parts[threadIdx.y][0];
  for (int i = 1; i < WARPS; ++i) value = join(value, parts[threadIdx.y][i]);
  return value;
}

__global__ void __launch_bounds__(row_threads* ROWS)
    softmax_kept(const float* x, float* y, int rows) {
  int row = blockIdx.x * ROWS + threadIdx.y;
  // A row beyond the last takes part in the barriers, with the last row's data.
  int read = min(row, rows - 1);
  const Piece* from = reinterpret_cast<const Piece*>(x + (long long)read * COLUMNS);
  Piece* to = reinterpret_cast<Piece*>(y + (long long)read * COLUMNS);
  const float nothing = -__int_as_float(0x7f800000);
  Piece kept[pieces];
  float largest = nothing;
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    int i = p * row_threads + threadIdx.x;
    if (i < COLUMNS / vector) {
      kept[p] = from[i];
    } else {
#pragma unroll
      for (int v = 0; v < vector; ++v) kept[p].at[v] = nothing;
    }
#pragma unroll
    for (int v = 0; v < vector; ++v) largest = fmaxf(largest, kept[p].at[v]);
  }
  largest = over_row(largest, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
#pragma unroll
  for (int p = 0; p < pieces; ++p)
#pragma unroll
    for (int v = 0; v < vector; ++v) {
      kept[p].at[v] = exponential(kept[p].at[v] - largest);
      sum += kept[p].at[v];
    }
  sum = over_row(sum, [](float a, float b) { return a + b; });
  float factor = 1 / sum;
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    int i = p * row_threads + threadIdx.x;
#pragma unroll
    for (int v = 0; v < vector; ++v) kept[p].at[v] *= factor;
    if (row < rows && i < COLUMNS / vector) to[i] = kept[p];
  }
}
