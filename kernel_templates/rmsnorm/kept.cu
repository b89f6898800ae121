// RMSNorm from registers: a row is read once, kept, and written once (rows.cuh has WARPS, ROWS,
// VECTOR, LOAD and STORE). COLUMNS is the problem's. EARLY_WEIGHT: the weights are asked for
// together with the row, in time but in registers, not when the sum is there.

#include "defaults.cuh"

#include "rows.cuh"

__global__ void __launch_bounds__(row_threads* ROWS)
    rmsnorm_kept(const Element* x, const Element* weight, Element* y, int rows, float epsilon) {
  int row = blockIdx.x * ROWS + threadIdx.y;
  // A row beyond the last takes part in the barriers, with the last row's data.
  long long start = (long long)min(row, rows - 1) * COLUMNS;
  float kept[pieces][vector];
  float weights[pieces][vector];
  float squares = 0;
#pragma unroll
  for (int p = 0; p < pieces; ++p)
    if (piece_of(p) < row_pieces) {
      load_piece<Use::LOAD>(x + start, piece_of(p), kept[p]);
      if (EARLY_WEIGHT) load_piece<Use::cached>(weight, piece_of(p), weights[p]);
    }
#pragma unroll
  for (int p = 0; p < pieces; ++p)
    if (piece_of(p) < row_pieces) {
#pragma unroll
      for (int v = 0; v < vector; ++v) squares += kept[p][v] * kept[p][v];
    }
  float factor = rsqrtf(sum_over_row(squares) / COLUMNS + epsilon);
#pragma unroll
  for (int p = 0; p < pieces; ++p)
    if (row < rows && piece_of(p) < row_pieces) {
      if (!EARLY_WEIGHT) load_piece<Use::cached>(weight, piece_of(p), weights[p]);
#pragma unroll
      for (int v = 0; v < vector; ++v) kept[p][v] *= factor * weights[p][v];
      store_piece<Use::STORE>(y + start, piece_of(p), kept[p]);
    }
}
