// Rows of a matrix of 16-bit elements in registers, as floats: WARPS warps share a row of COLUMNS,
// ROWS rows share a block of WARPS * 32 x ROWS threads, and a thread has every (WARPS * 32)th piece
// of VECTOR elements of its row. LOAD and STORE: whether the caches are told that an element is
// used once.
#pragma once

#include "element.cuh"

enum class Use { cached, once };

constexpr int row_threads = WARPS * 32;
// A row whose length is no multiple of a piece has its pieces misaligned.
constexpr int vector = COLUMNS % VECTOR == 0 ? VECTOR : 1;
constexpr int row_pieces = COLUMNS / vector;
constexpr int pieces = (row_pieces + row_threads - 1) / row_threads;  // of a thread

// What one instruction moves.
template <int kElements>
struct WordsOf;
template <>
struct WordsOf<1> {
  using Type = unsigned short;
};
template <>
struct WordsOf<2> {
  using Type = unsigned;
};
template <>
struct WordsOf<4> {
  using Type = uint2;
};
template <>
struct WordsOf<8> {
  using Type = uint4;
};
using Words = WordsOf<vector>::Type;

union Piece {
  Words words;
  Element elements[vector];
  unsigned pairs[(vector + 1) / 2];
};

// The number, in its row, of the thread's p-th piece; beyond the row's end there may be some.
__device__ __forceinline__ int piece_of(int p) { return p * row_threads + threadIdx.x; }

template <Use kUse>
__device__ __forceinline__ void load_piece(const Element* row, int piece, float (&to)[vector]) {
  const Words* const from = reinterpret_cast<const Words*>(row) + piece;
  Piece loaded;
  loaded.words = kUse == Use::once ? __ldcs(from) : *from;
#pragma unroll
  for (int v = 0; v < vector; ++v) to[v] = to_float(loaded.elements[v]);
}

template <Use kUse>
__device__ __forceinline__ void store_piece(Element* row, int piece, const float (&from)[vector]) {
  Words* const to = reinterpret_cast<Words*>(row) + piece;
  Piece made;
  if (vector == 1) {
    made.elements[0] = static_cast<Element>(pack(from[0], 0.0f));
  } else {
#pragma unroll
    for (int v = 0; v + 1 < vector; v += 2) made.pairs[v / 2] = pack(from[v], from[v + 1]);
  }
  if (kUse == Use::once)
    __stcs(to, made.words);
  else
    *to = made.words;
}

// `value` of all threads of a row, joined; every thread gets it. Each kind of Join has shared
// memory of its own, and may be used once.
template <typename Value, typename Join>
__device__ __forceinline__ Value over_row(Value value, Join join) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = join(value, value.from_lane(step));
  if (WARPS == 1) return value;
  __shared__ Value parts[ROWS][WARPS];
  if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[threadIdx.y][0];
#pragma unroll
  for (int i = 1; i < WARPS; ++i) value = join(value, parts[threadIdx.y][i]);
  return value;
}

struct Scalar {
  float value;
  __device__ __forceinline__ Scalar from_lane(int step) const {
    return {__shfl_xor_sync(0xffffffffu, value, step)};
  }
};

__device__ __forceinline__ float sum_over_row(float value) {
  return over_row(Scalar{value}, [](Scalar a, Scalar b) { return Scalar{a.value + b.value}; })
      .value;
}
