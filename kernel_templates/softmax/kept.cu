// Softmax of each row from registers: a row is read once, kept, and written once (rows.cuh has
// WARPS, ROWS, VECTOR, LOAD and STORE). COLUMNS is the problem's.
// JOIN: how a row's threads agree on its largest element and its sum.
//   twice: first on the one, then on the other, as the formula is read;
//   once: each thread subtracts its own largest element; what that was wrong by becomes a factor of
//         its sum and of its results (Milakov and Gimelshein, Online normalizer calculation for
//         softmax, 2018).
// FAST_EXP: 2^x by the special function unit.

#include "defaults.cuh"

#include "rows.cuh"

enum class JoinRow { twice, once };

constexpr float log2_e = 1.44269504f;
// Below every element, and finite: the difference of two of it is 0.
constexpr float lowest = -1e30f;

__device__ __forceinline__ float exponential(float x) {
  return FAST_EXP ? exp2f(x * log2_e) : expf(x);
}

// A sum of exponentials that `largest` was subtracted from.
struct Exponentials {
  float largest;
  float sum;
  __device__ __forceinline__ Exponentials from_lane(int step) const {
    return {__shfl_xor_sync(0xffffffffu, largest, step), __shfl_xor_sync(0xffffffffu, sum, step)};
  }
};

__device__ __forceinline__ Exponentials join_exponentials(Exponentials a, Exponentials b) {
  float largest = fmaxf(a.largest, b.largest);
  return {largest,
          a.sum * exponential(a.largest - largest) + b.sum * exponential(b.largest - largest)};
}

__global__ void __launch_bounds__(row_threads* ROWS)
    softmax_kept(const Element* x, Element* y, int rows) {
  int row = blockIdx.x * ROWS + threadIdx.y;
  // A row beyond the last takes part in the barriers, with the last row's data.
  long long start = (long long)min(row, rows - 1) * COLUMNS;
  float kept[pieces][vector];
  float largest = lowest;
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    if (piece_of(p) < row_pieces) {
      load_piece<Use::LOAD>(x + start, piece_of(p), kept[p]);
    } else {
#pragma unroll
      for (int v = 0; v < vector; ++v) kept[p][v] = lowest;
    }
#pragma unroll
    for (int v = 0; v < vector; ++v) largest = fmaxf(largest, kept[p][v]);
  }
  if (JoinRow::JOIN == JoinRow::twice)
    largest = over_row(Scalar{largest}, [](Scalar a, Scalar b) {
                return Scalar{fmaxf(a.value, b.value)};
              }).value;

  float sum = 0;
#pragma unroll
  for (int p = 0; p < pieces; ++p)
#pragma unroll
    for (int v = 0; v < vector; ++v) {
      kept[p][v] = exponential(kept[p][v] - largest);
      sum += kept[p][v];
    }
  float factor;
  if (JoinRow::JOIN == JoinRow::twice) {
    factor = 1 / sum_over_row(sum);
  } else {
    Exponentials of_row = over_row(Exponentials{largest, sum}, join_exponentials);
    factor = exponential(largest - of_row.largest) / of_row.sum;
  }
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
#pragma unroll
    for (int v = 0; v < vector; ++v) kept[p][v] *= factor;
    if (row < rows && piece_of(p) < row_pieces)
      store_piece<Use::STORE>(y + start, piece_of(p), kept[p]);
  }
}
